// The work of check_sample.sh:  node check_sample.js SAMPLE [QUANTANGSHI]
//
// A poem of the sample occurs in the corpus when a work there has its title and author,
// begins with the same sentence, or has the same author and any sentence in common. One of
// these works must have the same characters; other punctuation is reported, no more.
'use strict';

const fs = require('fs');
const path = require('path');

const MINIMUM = 200;
const KEYS = 'author id paragraphs title';
const SENTENCE = /[^。？！]+[。？！]/gu;
const BODY = /^(?:[\p{Script=Han}，、；：]+[。？！])+$/u;
const NAME = /^\p{Script=Han}+(?: \p{Script=Han}+)*$/u;

let faults = 0;
const fault = (place, message) => {
    faults++;
    console.log(`${place}: ${message}`);
};
const han = (text) => text.replace(/[^\p{Script=Han}]/gu, '');

// The corpus puts a character that its editors supplied in brackets: [欸]乃 reads 欸乃.
const plain = (text) => text.replace(/\[(\p{Script=Han})\]/gu, '$1');

function readJson(file) {
    const bytes = fs.readFileSync(file);
    try {
        return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    } catch (error) {
        throw new Error(`${file}: expected UTF-8 JSON: ${error.message}`);
    }
}

// ---- the sample on its own ---------------------------------------------------------

function checkSchema(poem, place) {
    const before = faults;
    const keys = Object.keys(Object(poem)).sort().join(' ');
    if (keys !== KEYS) {
        fault(place, `expected an object with the keys "${KEYS}", found "${keys}"`);
        return false;
    }
    for (const key of ['author', 'title']) {
        if (typeof poem[key] !== 'string' || !NAME.test(poem[key])) {
            fault(place, `${key}: expected Han characters, found ${JSON.stringify(poem[key])}`);
        }
    }
    if (typeof poem.id !== 'string' || !/^sample-\d{4}$/.test(poem.id)) {
        fault(place, `id: expected sample-NNNN, found ${JSON.stringify(poem.id)}`);
    }
    if (!Array.isArray(poem.paragraphs) || poem.paragraphs.length === 0) {
        fault(place, 'paragraphs: expected an array with at least one string');
        return false;
    }
    for (const text of poem.paragraphs) {
        if (typeof text !== 'string' || !BODY.test(text)) {
            fault(place, 'paragraphs: expected Han characters and ，。？！、；： with a ' +
                `sentence end at the end, found ${JSON.stringify(text)}`);
        }
    }
    const all = JSON.stringify(poem);
    if (all !== all.normalize('NFC')) {
        fault(place, 'expected NFC, found something else');
    }
    return faults === before;
}

function readSample(folder) {
    const poems = [];
    const seen = new Map();
    for (const name of fs.readdirSync(folder).filter((n) => n.endsWith('.json')).sort()) {
        let works;
        try {
            works = readJson(path.join(folder, name));
        } catch (error) {
            fault('check_sample', error.message);
            continue;
        }
        if (!Array.isArray(works)) {
            fault(name, 'expected an array of poems');
            continue;
        }
        works.forEach((poem, i) => {
            const place = `${name}, poem ${i + 1}`;
            if (!checkSchema(poem, place)) return;
            const body = poem.paragraphs.join('');
            for (const key of [poem.id, han(body)]) {
                if (seen.has(key)) {
                    fault(place, `${poem.title}: same id or text as ${seen.get(key)}`);
                }
                seen.set(key, place);
            }
            poems.push({ ...poem, place, body, twins: [] });
        });
    }
    if (poems.length < MINIMUM) {
        fault(folder, `expected at least ${MINIMUM} poems, found ${poems.length}`);
    }
    return poems;
}

// ---- against the corpus ------------------------------------------------------------

const keysOf = (author, title, sentences) => [
    `title ${author} ${title}`,
    `first ${sentences[0]}`,
    ...sentences.map((s) => `any ${author} ${s}`),
];
const sentencesOf = (body) => (body.match(SENTENCE) || [body]).map(han);

// Hangs every work of the corpus on the poems of the sample that it may be.
function findTwins(poems, folder) {
    const index = new Map();
    for (const poem of poems) {
        for (const key of keysOf(poem.author, poem.title, sentencesOf(poem.body))) {
            index.set(key, (index.get(key) || new Set()).add(poem));
        }
    }
    const files = fs.readdirSync(folder).filter((n) => /^poet\.(tang|song)\.\d+\.json$/.test(n));
    if (files.length === 0) {
        throw new Error(`${folder}: expected poet.tang.N.json or poet.song.N.json, found none`);
    }
    for (const name of files.sort()) {
        for (const work of readJson(path.join(folder, name))) {
            const body = plain((work.paragraphs || []).join(''));
            const keys = keysOf(work.author, work.title, sentencesOf(body));
            for (const key of new Set(keys)) {
                for (const poem of index.get(key) || []) {
                    poem.twins.push({ name, body });
                }
            }
        }
    }
}

function compare(poems) {
    const count = { equal: 0, punctuation: 0, different: 0, missing: 0 };
    for (const poem of poems) {
        const about = `${poem.place}: ${poem.author} ${poem.title}`;
        const twin = poem.twins.find((t) => t.body === poem.body) ||
            poem.twins.find((t) => han(t.body) === han(poem.body));
        if (poem.twins.length === 0) {
            count.missing++;
            console.log(`${about}: not in the corpus`);
        } else if (!twin) {
            count.different++;
            fault(about, `differs from ${poem.twins[0].name}\n  sample: ${poem.body}` +
                `\n  corpus: ${poem.twins[0].body}`);
        } else if (twin.body !== poem.body) {
            count.punctuation++;
            console.log(`${about}: other punctuation than ${twin.name}\n  ${twin.body}`);
        } else {
            count.equal++;
        }
    }
    console.log(`found and equal: ${count.equal}, equal but for punctuation: ` +
        `${count.punctuation}, found but different: ${count.different}, ` +
        `not found: ${count.missing}`);
}

const [sample, corpus] = process.argv.slice(2);
try {
    const poems = readSample(sample);
    console.log(`poems: ${poems.length}`);
    if (corpus) {
        findTwins(poems, corpus);
        compare(poems);
    } else {
        console.log('no corpus: checked schema and uniqueness only ' +
            '(scripts/fetch_corpus.sh fetches it)');
    }
} catch (error) {
    fault('check_sample', error.message);
}
process.exitCode = faults ? 1 : 0;
