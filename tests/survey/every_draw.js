// The exact law of draws: every path through a sampler, with its probability; read and written as JSON.
//
// node every_draw.js draw.js < [{"law": record, "code": "3", "deep": 40}, …]
// A path that takes more than `deep` coins is left out: what it gives lies far out.
"use strict";
const fs = require("fs");
const source = fs.readFileSync(process.argv[2], "utf8");
const { Coins, SAMPLERS, NOISES } = new Function(`${source}; return { Coins, SAMPLERS, NOISES };`)();

class EveryPath {
  constructor(deep) {
    this.deep = deep;
    this.path = [];
  }

  branch(ways, chance) {
    if (this.at >= this.deep) throw this;
    if (this.at === this.path.length) this.path.push({ way: 0, ways });
    const way = this.path[this.at++].way;
    const [top, bottom] = chance(way);
    this.top *= top;
    this.bottom *= bottom;
    return way;
  }

  below(count) {
    return BigInt(this.branch(Number(count), () => [1n, count]));
  }

  choose(weights) {
    const numbers = weights.map(BigInt), total = numbers.reduce((a, b) => a + b, 0n);
    const possible = numbers.map((weight, place) => [weight, place]).filter(([weight]) => weight > 0n);
    return possible[this.branch(possible.length, (way) => [possible[way][0], total])][1];
  }

  // Whether there is another path.
  next() {
    this.path.length = this.at;
    while (this.path.length && this.path.at(-1).way + 1 === this.path.at(-1).ways) this.path.pop();
    if (!this.path.length) return false;
    this.path.at(-1).way++;
    return true;
  }
}

function exactLaw({ law, code, deep }) {
  const found = new Map(), coins = new EveryPath(deep);
  do {
    coins.at = 0;
    coins.top = coins.bottom = 1n;
    let drawn;
    try {
      drawn = SAMPLERS[law.kind](law, BigInt(code), coins);
    } catch (stop) {
      if (stop !== coins) throw stop;
      continue;
    }
    const sums = found.get(String(drawn)) ?? new Map(); // by denominator
    sums.set(coins.bottom, (sums.get(coins.bottom) ?? 0n) + coins.top);
    found.set(String(drawn), sums);
  } while (coins.next());
  return Object.fromEntries([...found].map(([drawn, sums]) => [drawn, [...sums].map(([d, n]) => `${n}/${d}`)]));
}

// How often each output is drawn when every word of 16 bits is the first; a word that is drawn again counts as null.
function everyWord({ law, code }) {
  const counts = {};
  for (let word = 0; word < 1 << 16; word++) {
    let first = true;
    const coins = new Coins((bytes) => {
      if (!first || bytes.length !== 2) throw coins;
      first = false;
      bytes.set([word >> 8, word & 255]);
    });
    let drawn = "again";
    try {
      drawn = String(SAMPLERS[law.kind](law, BigInt(code), coins));
    } catch (stop) {
      if (stop !== coins) throw stop;
    }
    counts[drawn] = (counts[drawn] ?? 0) + 1;
  }
  return counts;
}

// Draws with the secure coins of Node.
function manyDraws({ law, code, draws }) {
  const counts = {}, coins = new Coins((bytes) => globalThis.crypto.getRandomValues(bytes));
  for (let n = 0; n < draws; n++) {
    const drawn = String(SAMPLERS[law.kind](law, BigInt(code), coins));
    counts[drawn] = (counts[drawn] ?? 0) + 1;
  }
  return counts;
}

const ways = { exact: exactLaw, word: everyWord, many: manyDraws };
const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const told = asked.map((one) => ways[one.way](one));
process.stdout.write(JSON.stringify({ kinds: Object.keys(SAMPLERS), noises: Object.keys(NOISES), told }));
