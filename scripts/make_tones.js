// Makes data/tones_table.c:  node make_tones.js QIEYUN CORPUS >data/tones_table.c
//
// QIEYUN is the unpacked npm package qieyun (readings of the 廣韻), CORPUS the folder dist of
// the npm package chinese-poetry; data/README.md names the versions. A kind is level or
// oblique; a character's kinds come from
//   1. its readings in the 廣韻;
//   2. votes: in the middle couplets of poems of eight equal lines a character stands
//      opposite to one of the other kind, at the places 2, 4 (6). Each time that the
//      character there has one kind in the 廣韻, it is a vote for the other kind;
//   3. marks: what the collection's own table (strains) calls the character, poem by poem.
'use strict';

const fs = require('fs');
const path = require('path');

const LEVEL = 1, OBLIQUE = 2, BOTH = 3;
const MINIMUM_VOTES = 10;
const CLEAR = 0.9; // of the votes: chance alone gives 0.055 for the other kind
const LIKELY = 0.75; // of the votes, when CLEAR_MARKS of the marks say so, too
const CLEAR_MARKS = 0.98;
const FEW_VOTES = 5; // for a character that the 廣韻 lacks, FEW_CLEAR of them
const FEW_CLEAR = 0.8;

// Blocks with two bits a character in the table: CJK Extension A to Unified, Extension B.
const BLOCKS = [
    { name: 'BASIC', first: 0x3400, last: 0x9fff },
    { name: 'EXTENSION_B', first: 0x20000, last: 0x2a6df },
];
const WORD_CHARACTERS = 32; // of two bits in a uint64_t

function readings(folder) {
    const data = require(path.resolve(folder)).資料;
    const kinds = new Map();
    for (const place of data.iter音韻地位()) {
        for (const entry of data.query音韻地位(place)) {
            const kind = place.聲 === '平' ? LEVEL : OBLIQUE;
            kinds.set(entry.字頭, (kinds.get(entry.字頭) || 0) | kind);
        }
    }
    return kinds;
}

function works(folder, prefix) {
    return fs.readdirSync(folder)
        .filter((name) => new RegExp(`^poet\\.${prefix}\\.\\d+\\.json$`).test(name))
        .sort()
        .flatMap((name) => JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8')));
}

// Counts by character and kind; BOTH counts marks that leave it open.
class Tally extends Map {
    add(character, kind) {
        if (!this.has(character)) {
            this.set(character, [0, 0, 0, 0]);
        }
        this.get(character)[kind]++;
    }
}

function countVotes(votes, work, kinds) {
    const lines = work.paragraphs.join('').split(/[，。！？；：]/u).filter((line) => line)
        .map((line) => [...line]);
    const width = lines.length === 8 ? lines[0].length : 0;
    if ((width !== 5 && width !== 7) || lines.some((line) => line.length !== width)) {
        return;
    }
    for (const upper of [2, 4]) {
        for (let place = 1; place < width - 1; place += 2) {
            const pair = [lines[upper][place], lines[upper + 1][place]];
            for (const side of [0, 1]) {
                const other = kinds.get(pair[1 - side]);
                if (other === LEVEL || other === OBLIQUE) {
                    votes.add(pair[side], BOTH - other);
                }
            }
        }
    }
}

function countMarks(marks, work, strains) {
    const text = [...work.paragraphs.join('')];
    const signs = [...(strains.get(work.id) || '')];
    if (signs.length !== text.length) {
        return;
    }
    const kindOf = { '平': LEVEL, '仄': OBLIQUE, '○': BOTH };
    text.forEach((character, i) => {
        if (signs[i] in kindOf) {
            marks.add(character, kindOf[signs[i]]);
        }
    });
}

const sum = (counts) => (counts ? counts[LEVEL] + counts[OBLIQUE] + counts[BOTH] : 0);
const share = (counts, kind) => (counts ? counts[kind] / Math.max(1, sum(counts)) : 0);

function decide(known, votes, marks) {
    for (const kind of [LEVEL, OBLIQUE]) {
        const enough = sum(votes) >= MINIMUM_VOTES;
        const clear = enough && share(votes, kind) >= CLEAR;
        const likely = enough && share(votes, kind) >= LIKELY && share(marks, kind) >= CLEAR_MARKS;
        if (known === BOTH && (clear || likely)) {
            return kind;
        }
        if (known === BOTH - kind && clear) {
            return BOTH; // a reading that the 廣韻 lacks: 忘 is level in verse
        }
        const few = sum(votes) >= FEW_VOTES && share(votes, kind) >= FEW_CLEAR;
        const marked = sum(votes) < FEW_VOTES && share(marks, kind) >= CLEAR;
        if (!known && (few || marked)) {
            return kind;
        }
    }
    return known || (sum(votes) >= FEW_VOTES ? BOTH : 0);
}

function printBlock(block, tones) {
    const words = [];
    for (let first = block.first; first <= block.last; first += WORD_CHARACTERS) {
        let word = 0n;
        for (let i = 0; i < WORD_CHARACTERS; i++) {
            word |= BigInt(tones.get(String.fromCodePoint(first + i)) || 0) << BigInt(2 * i);
        }
        words.push(`0x${word.toString(16).padStart(16, '0')}`);
    }
    console.log(`\nconst uint64_t TONES_${block.name}[TONES_${block.name}_WORDS] = {`);
    for (let i = 0; i < words.length; i += 4) {
        console.log(`    ${words.slice(i, i + 4).join(', ')},`);
    }
    console.log('};');
}

function main([qieyun, corpus]) {
    if (!corpus) {
        console.error('usage: make_tones.js QIEYUN CORPUS (packages qieyun, chinese-poetry/dist)');
        process.exit(2);
    }
    const kinds = readings(qieyun);
    const votes = new Tally(), marks = new Tally();
    for (const prefix of ['tang', 'song']) {
        const strains = new Map(works(path.join(corpus, 'strains/json'), prefix)
            .map((item) => [item.id, item.strains.join('')]));
        for (const work of works(path.join(corpus, 'quantangshi'), prefix)) {
            countVotes(votes, work, kinds);
            countMarks(marks, work, strains);
        }
    }

    const tones = new Map(), changes = { narrowed: 0, widened: 0, added: 0 };
    const total = [0, 0, 0, 0];
    for (const character of new Set([...kinds.keys(), ...votes.keys(), ...marks.keys()])) {
        const point = character.codePointAt(0);
        const known = kinds.get(character) || 0;
        const tone = decide(known, votes.get(character), marks.get(character));
        if (!BLOCKS.some((block) => point >= block.first && point <= block.last) || !tone) {
            continue;
        }
        tones.set(character, tone);
        total[tone]++;
        changes.added += known === 0;
        changes.narrowed += known === BOTH && tone !== BOTH;
        changes.widened += known !== 0 && known !== BOTH && tone === BOTH;
    }
    const version = JSON.parse(fs.readFileSync(path.join(qieyun, 'package.json'))).version;
    console.log(`/* Made by scripts/make_tones.js from qieyun ${version} (CC0): do not edit.
 *
 * ${total[LEVEL]} level, ${total[OBLIQUE]} oblique, ${total[BOTH]} of both kinds. Of them ${changes.narrowed} have readings of both
 * kinds in the 廣韻 and one in verse, ${changes.widened} one there and both in verse, ${changes.added} are not there. */
#include "data/tones_table.h"`);
    for (const block of BLOCKS) {
        printBlock(block, tones);
    }
}

main(process.argv.slice(2));
