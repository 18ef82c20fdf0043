"use strict";
// One draw from a law of a dproof certificate, in whole numbers (BigInt) and nothing else.
//
// A law is a record of the certificate: its kind, and numbers. A sampler takes the law, the code of the true answer and
// the coins, and gives the code that is sent. All randomness comes through `below` and `choose`.

class Coins {
  // `fill` overwrites an array of bytes with random ones, as crypto.getRandomValues does.
  constructor(fill) {
    this.fill = fill;
  }

  // A uniform word of so many bits.
  word(bits) {
    const bytes = new Uint8Array(Math.ceil(bits / 8));
    this.fill(bytes);
    const word = bytes.reduce((high, byte) => (high << 8n) | BigInt(byte), 0n);
    return word >> BigInt(8 * bytes.length - bits);
  }

  // A uniform number below `count`: words just long enough, drawn again until one is below.
  below(count) {
    if (count === 1n) return 0n;
    const bits = (count - 1n).toString(2).length;
    for (;;) {
      const word = this.word(bits);
      if (word < count) return word;
    }
  }

  // The place of one of the weights, each as likely as its weight says.
  choose(weights) {
    const numbers = weights.map(BigInt);
    let left = this.below(numbers.reduce((sum, weight) => sum + weight, 0n));
    let place = 0;
    while (left >= numbers[place]) left -= numbers[place++];
    return place;
  }
}

const SAMPLERS = {
  // The code itself, or any other.
  "keep-or-other"(law, code, coins) {
    const others = BigInt(law.size) - 1n;
    if (coins.choose([law.keep, BigInt(law.other) * others]) === 0) return code;
    const other = coins.below(others);
    return other < code ? other : other + 1n;
  },

  // Every item of the set is told or reversed by itself.
  "bits"(law, code, coins) {
    for (let item = 0n; item < law.bits; item++) {
      if (coins.choose([law.stay, law.flip]) === 1) code ^= 1n << item;
    }
    return code;
  },

  // One item of the set, and whether the set holds it, told or reversed.
  "one-item"(law, code, coins) {
    const item = coins.below(BigInt(law.bits));
    const turned = BigInt(coins.choose([law.stay, law.flip]));
    return 2n * item + (((code >> item) & 1n) ^ turned);
  },

  // A set of values: whether it holds the true one, then the others one by one.
  "subset-selection"(law, code, coins) {
    const size = BigInt(law.size), width = BigInt(law.width);
    const without = binomial(size - 1n, width) * BigInt(law.low);
    const held = coins.choose([without, binomial(size - 1n, width - 1n) * BigInt(law.high)]);
    let set = BigInt(held) << code, need = width - BigInt(held), left = size - 1n;
    for (let value = 0n; value < size; value++) {
      if (value === code) continue;
      if (coins.below(left) < need) {
        set |= 1n << value;
        need--;
      }
      left--;
    }
    return set;
  },

  "block-design": drawBlock,
  "plane-design": drawBlock,

  // A row of whole numbers for each code.
  "matrix"(law, code, coins) {
    return BigInt(coins.choose(law.rows[code]));
  },

  // A point between two coarse ones becomes either, and that one is drawn from a matrix.
  "rounded"(law, code, coins) {
    const parts = BigInt(law.size) - 1n;
    const inside = code < parts ? code : parts;
    const place = inside * BigInt(law.steps), part = place % parts;
    const up = BigInt(coins.choose([parts - part, part]));
    return SAMPLERS.matrix(law.law, place / parts + up + (code - inside), coins);
  },

  // A number and noise; what lies beyond the ends becomes the end where the law is clamped.
  "lattice"(law, code, coins) {
    const moved = code + NOISES[law.noise.kind](law.noise, coins), last = BigInt(law.size) - 1n;
    if (!law.clamped) return moved;
    return moved < 0n ? 0n : moved > last ? last : moved;
  },

  // A number and noise, drawn again until it lies between the ends.
  "bounded"(law, code, coins) {
    for (;;) {
      const moved = code + NOISES[law.noise.kind](law.noise, coins);
      if (0n <= moved && moved < BigInt(law.size)) return moved;
    }
  },

  // A number that may be missing is shown or hidden; where it is missing, what is shown is the middle. Hidden is null.
  "optional"(law, code, coins) {
    const size = BigInt(law.law.size), missing = code === size;
    const shown = BigInt(missing ? law.missing : law.present);
    const hidden = coins.choose([shown, BigInt(law.whole) - shown]) === 1;
    const moved = SAMPLERS[law.law.kind](law.law, missing ? (size - 1n) / 2n : code, coins);
    return hidden ? null : moved;
  },
};

const NOISES = {
  // Laplace noise in digits of base 128: the top one has the sign, and a last cell from which it goes on.
  "two-sided"(noise, coins) {
    const tables = [...noise.top[0], ...noise.top[1]], cells = noise.top[0].length;
    const reach = noise.reach === null ? null : BigInt(noise.reach);
    for (;;) {
      let top = coins.choose(tables);
      const negative = top >= cells;
      let size = BigInt(top % cells);
      while (top % cells === cells - 1) {
        top = coins.choose(tables);
        size += BigInt(top % cells);
      }
      for (const table of [...noise.lower].reverse()) size = size * 128n + BigInt(coins.choose(table));
      const value = negative ? -1n - size : size;
      if (reach === null || (-reach <= value && value <= reach)) return value;
    }
  },

  // A stair, from whose last cell it goes on, then one of the numbers on it.
  "stairs"(noise, coins) {
    const inner = BigInt(noise.inner), width = BigInt(noise.width);
    let part = coins.choose(noise.first), stair = BigInt(part), last = noise.first.length - 1;
    while (part === last) {
      part = coins.choose(noise.tail);
      stair += BigInt(part);
      last = noise.tail.length - 1;
    }
    if (stair === 0n) return coins.below(2n * inner - 1n) - (inner - 1n);
    const cell = coins.below(2n * width), outside = inner + (stair - 1n) * width + cell / 2n;
    return cell % 2n === 1n ? -outside : outside;
  },

  // Cells of `unit` numbers around 0, by weights that are the same on both sides.
  "gaussian"(noise, coins) {
    const cell = coins.choose([...noise.weights.slice(1).reverse(), ...noise.weights]) - noise.weights.length + 1;
    const unit = BigInt(noise.unit);
    return BigInt(cell) * unit + coins.below(unit) - unit / 2n;
  },
};

function binomial(all, some) {
  let count = 1n;
  for (let n = 0n; n < some; n++) count = (count * (all - n)) / (n + 1n);
  return count;
}

// Designs: block (j, y) holds the value x where y − x lies in the set of j, one of `bases` sets of residues.

function drawBlock(law, code, coins) {
  const { modulus, bases, width, places, powers } = design(law);
  const j = Number(coins.below(BigInt(bases)));
  const inside = [BigInt(width) * BigInt(law.high), BigInt(modulus - width) * BigInt(law.low)];
  const place = coins.choose(inside) === 0 ? coins.below(BigInt(width)) : BigInt(width) + coins.below(BigInt(modulus - width));
  return BigInt(j * modulus + ((Number(code) + places[place] * powers[j]) % modulus));
}

// All residues, those of the first set first; the set of j is the first one times the power j.
function design(law) {
  const inside = law.kind === "plane-design" ? planeSet(law.order) : classes(law);
  const { modulus, bases, set, powers } = inside, held = new Set(set);
  const others = [...Array(modulus).keys()].filter((residue) => !held.has(residue));
  return { modulus, bases, width: set.length, places: [...set, ...others], powers };
}

// The classes of the residues of a prime by their discrete logarithms, to the least primitive root.
function classes(law) {
  for (let root = 1; ; root++) {
    const powers = [1];
    for (let next = root % law.prime; next !== 1; next = (next * root) % law.prime) powers.push(next);
    if (powers.length === law.prime - 1) {
      const set = powers.filter((_, logarithm) => logarithm % law.classes < law.taken);
      return { modulus: law.prime, bases: law.classes, set, powers };
    }
  }
}

// A line of the projective plane over the field of q elements: the n for which xⁿ = c₀ + c₁x, modulo the first cubic
// under which the powers of x are all points of the plane.
function planeSet(q) {
  const modulus = q * q + q + 1;
  for (let c2 = 0; c2 < q; c2++) for (let c1 = 0; c1 < q; c1++) for (let c0 = 1; c0 < q; c0++) {
    const set = [];
    let power = [1, 0, 0], n = 0;
    do {
      if (power[2] === 0) set.push(n);
      const [a0, a1, a2] = power;
      power = [(a2 * c0) % q, (a0 + a2 * c1) % q, (a1 + a2 * c2) % q];
      n++;
    } while (n < modulus && (power[1] !== 0 || power[2] !== 0));
    if (n === modulus && power[1] === 0 && power[2] === 0) return { modulus, bases: 1, set, powers: [1] };
  }
}
