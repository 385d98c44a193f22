// One family: node interop.mjs JUEJU FAMILY CHECKPOINT STEM
//
// STEM-f32.gguf and STEM-f16.gguf are exports of CHECKPOINT. Everything is compared with what
// the program JUEJU itself says: `jueju tokenize` and `jueju sample --temperature 0`.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { getLlama, LlamaLogLevel, TokenBias } from "node-llama-cpp";

const [jueju, family, checkpoint, stem] = process.argv.slice(2);
const UNK = 0, BOS = 1, EOS = 2, TITLE = 3, AUTHOR = 4, FORM = 5;
const POEMS = 1000;

// What a poem is asked for with: how it begins, and fields. The characters are the corpus'
// own variants, so that the prompt reaches the model as it stands here.
const REQUESTS = [
  { prompt: "明月" }, { prompt: "春風" }, { prompt: "秋" }, { prompt: "白雲" },
  { prompt: "山中" }, { prompt: "江上" }, { prompt: "故人" }, { prompt: "長安" },
  { prompt: "日暮" }, { prompt: "空山不見人" }, { prompt: "落花" }, { prompt: "萬里" },
  { prompt: "君" }, { prompt: "青天有月來幾時" }, { prompt: "清泉石上流，" }, { prompt: "" },
  { prompt: "風", form: "五絕" }, { prompt: "天", form: "七律" },
  { prompt: "", title: "秋夜", author: "杜甫" }, { prompt: "月", title: "送友人", form: "五律" },
];

let failed = false;
function report(line, fine) {
  console.log(`${family}: ${line}`);
  failed ||= !fine;
}

function run(args, input) {
  return execFileSync(jueju, args, { input, stdio: "pipe", encoding: "utf8", maxBuffer: 1 << 28 });
}

const equal = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);
const lines = (text) => text.split("\n").slice(0, -1);

// ---- tokens ---------------------------------------------------------------------------

// Bodies of poems, as they stand in the collection: raw, with rare and odd characters.
function readPoems() {
  const corpus = "data/corpora/chinese-poetry/dist/quantangshi";
  const folder = existsSync(corpus) ? corpus : "data/sample";
  const files = readdirSync(folder).filter((name) => /^poet\..*\.json$/.test(name)).sort();
  const share = Math.ceil(POEMS / files.length);
  const poems = files.flatMap((name) =>
    JSON.parse(readFileSync(join(folder, name), "utf8"))
      .map((poem) => poem.paragraphs.join("").replaceAll("\n", ""))
      .filter((body) => body.length > 0)
      .slice(0, folder === corpus ? share : undefined));
  return poems.slice(0, POEMS);
}

// llama.cpp's unigram tokenizer makes one <unk> of several unknown characters in a row.
const mergeUnknown = (ids) => ids.filter((id, i) => id !== UNK || ids[i - 1] !== UNK);

function compareTokens(model) {
  const poems = readPoems();
  const ours = lines(run(["tokenize", checkpoint], poems.join("\n") + "\n")).map((line) => JSON.parse(line));
  const texts = lines(run(["tokenize", "--decode", checkpoint], ours.map((ids) => JSON.stringify(ids)).join("\n") + "\n"));

  const folder = existsSync(join(checkpoint, "tokenizer.json")) ? checkpoint : join(checkpoint, "best");
  const read = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
  const hugging = new Tokenizer(read("tokenizer.json"), read("tokenizer_config.json"));
  const encoded = poems.filter((poem, i) => equal(hugging.encode(poem).ids, ours[i])).length;
  const decoded = poems.filter((_, i) => hugging.decode(ours[i], { skip_special_tokens: true }) === texts[i]).length;
  report(`@huggingface/tokenizers: ${encoded} of ${poems.length} poems encoded alike, ${decoded} decoded alike`,
    encoded === poems.length && decoded === poems.length);

  // llama.cpp leaves NFC to its caller.
  const theirs = poems.map((poem) => model.tokenize(poem.normalize("NFC")));
  const alike = theirs.filter((ids, i) => equal(ids, ours[i])).length;
  const merged = theirs.filter((ids, i) => equal(ids, mergeUnknown(ours[i]))).length;
  report(`llama.cpp: ${alike} of ${poems.length} poems cut alike, ${merged} when unknown characters in a row count as one`,
    merged === poems.length);
}

// ---- continuations --------------------------------------------------------------------

// The poem that jueju writes: ids behind the prompt, and whether <eos> ended it.
function ourPoem(request) {
  const options = Object.entries(request).flatMap(([name, text]) => (text === "" ? [] : [`--${name}=${text}`]));
  const poem = JSON.parse(run(["sample", checkpoint, "--temperature", "0", "--seed", "1", "--json", ...options]));
  if (!poem.text.startsWith(request.prompt)) throw new Error(`the prompt ${request.prompt} was changed: ${poem.text}`);
  const text = poem.text.slice(request.prompt.length);
  return { ids: JSON.parse(run(["tokenize", checkpoint], text + "\n")), ended: poem.ended };
}

// [<form>F][<title>T][<author>A]<bos>prompt
function prefixOf(model, request) {
  const field = (id, text) => (text === undefined ? [] : [id, ...model.tokenize(text)]);
  return [...field(FORM, request.form), ...field(TITLE, request.title), ...field(AUTHOR, request.author),
    BOS, ...model.tokenize(request.prompt)];
}

async function theirPoem(sequence, model, request) {
  const ids = [];
  const prefix = prefixOf(model, request);
  const never = (specials) => new TokenBias(model.tokenizer).set(specials, "never");
  await sequence.clearHistory();
  for await (const id of sequence.evaluate(prefix, {
    temperature: 0,
    tokenBias: never([UNK, BOS, TITLE, AUTHOR, FORM]), // as jueju never draws them
    yieldEogToken: true,
  })) {
    // The last token of a full context is drawn, but never read.
    if (id === EOS || prefix.length + ids.push(id) > model.trainContextSize) {
      return { ids, ended: id === EOS ? "eos" : "length" };
    }
  }
  return { ids, ended: "stopped" };
}

// A poem that reached the limit was cut back to its last whole line by jueju.
function samePoem(ours, theirs) {
  return ours.ended === "length"
    ? theirs.ids.length >= ours.ids.length && equal(ours.ids, theirs.ids.slice(0, ours.ids.length))
    : theirs.ended === "eos" && equal(ours.ids, theirs.ids);
}

async function comparePoems(model, dtype, ours) {
  const context = await model.createContext({
    contextSize: model.trainContextSize + 8, // near its end it would drop the oldest tokens
    threads: 2,
    flashAttention: false,
    experimentalKvCacheKeyType: "F32", // f16 by default: a rounding that jueju doesn't have
    experimentalKvCacheValueType: "F32",
  });
  const sequence = context.getSequence();
  let same = 0, tokens = 0;
  for (const [i, request] of REQUESTS.entries()) {
    const theirs = await theirPoem(sequence, model, request);
    if (samePoem(ours[i], theirs)) {
      same++;
      tokens += ours[i].ids.length + (ours[i].ended === "eos" ? 1 : 0);
    } else if (dtype === "f32") {
      console.error(`${JSON.stringify(request)}\n  jueju     ${model.detokenize(ours[i].ids)} (${ours[i].ended})` +
        `\n  llama.cpp ${model.detokenize(theirs.ids)} (${theirs.ended})`);
    }
  }
  await context.dispose();
  report(`${dtype}: ${same} of ${REQUESTS.length} equal (${tokens} tokens)`, dtype !== "f32" || same === REQUESTS.length);
}

// ---- the family -----------------------------------------------------------------------

const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, maxThreads: 2, logLevel: LlamaLogLevel.error });
const ours = REQUESTS.map(ourPoem);
for (const dtype of ["f32", "f16"]) {
  const model = await llama.loadModel({ modelPath: `${stem}-${dtype}.gguf`, gpuLayers: 0 });
  if (dtype === "f32") compareTokens(model);
  await comparePoems(model, dtype, ours);
  await model.dispose();
}
process.exitCode = failed ? 1 : 0;
