import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import {
  formatBytes,
  formatCount,
  formatCpuMilli,
  formatQuantity,
  parseBytes,
  parseCount,
  parseCpuMilli,
  parseQuantity,
  type QuantityFormat,
} from "./quantity.ts";

const mostNano = (2n ** 63n - 1n) * 10n ** 9n;
const powerOf: Record<string, number> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

test("quantities are read and written as Kubernetes reads and writes them", () => {
  // Text, canonical text, thousandths, whole ones; taken from k8s.io/apimachinery v0.34.4.
  const facts: [string, string, bigint, bigint][] = [
    ["0", "0", 0n, 0n],
    ["0Ki", "0", 0n, 0n],
    ["1", "1", 1000n, 1n],
    ["007", "7", 7000n, 7n],
    ["+2", "2", 2000n, 2n],
    ["100m", "100m", 100n, 1n],
    ["0.1", "100m", 100n, 1n],
    ["1.5", "1500m", 1500n, 2n],
    [".5", "500m", 500n, 1n],
    ["5.", "5", 5000n, 5n],
    ["1n", "1n", 1n, 1n],
    ["1u", "1u", 1n, 1n],
    ["999999n", "999999n", 1n, 1n],
    ["1000000n", "1m", 1n, 1n],
    ["0.1m", "100u", 1n, 1n],
    ["0.0001n", "1n", 1n, 1n],
    ["1000", "1k", 1000000n, 1000n],
    ["1500", "1500", 1500000n, 1500n],
    ["10.035k", "10035", 10035000n, 10035n],
    ["100000", "100k", 100000000n, 100000n],
    ["1M", "1M", 1000000000n, 1000000n],
    ["1G", "1G", 1000000000000n, 1000000000n],
    ["1T", "1T", 1000000000000000n, 1000000000000n],
    ["1P", "1P", 1000000000000000000n, 1000000000000000n],
    ["9E", "9E", 9000000000000000000000n, 9000000000000000000n],
    ["12e6", "12e6", 12000000000n, 12000000n],
    ["12E6", "12e6", 12000000000n, 12000000n],
    ["1e+3", "1e3", 1000000n, 1000n],
    ["1500e-3", "1500e-3", 1500n, 2n],
    ["1e-12", "1e-9", 1n, 1n],
    ["1.5e1", "15", 15000n, 15n],
    ["128974848", "128974848", 128974848000n, 128974848n],
    ["129e6", "129e6", 129000000000n, 129000000n],
    ["123Mi", "123Mi", 128974848000n, 128974848n],
    ["1Ki", "1Ki", 1024000n, 1024n],
    ["0.5Ki", "512", 512000n, 512n],
    ["1.1Ki", "1126400m", 1126400n, 1127n],
    ["0.001Ki", "1024m", 1024n, 2n],
    ["1000Ki", "1000Ki", 1024000000n, 1024000n],
    ["1024Ki", "1Mi", 1048576000n, 1048576n],
    ["1.5Gi", "1536Mi", 1610612736000n, 1610612736n],
    ["1Ti", "1Ti", 1099511627776000n, 1099511627776n],
    ["1Pi", "1Pi", 1125899906842624000n, 1125899906842624n],
    ["7Ei", "7Ei", 8070450532247928832000n, 8070450532247928832n],
  ];
  for (const [text, canonical, milli, whole] of facts) {
    assert.equal(formatQuantity(parseQuantity(text)), canonical, text);
    assert.equal(parseCpuMilli(text), milli, text);
    assert.equal(parseBytes(text), whole, text);
    assert.equal(parseCount(text), whole, text);
  }
});

test("a quantity may be negative, an amount of something may not", () => {
  assert.equal(formatQuantity(parseQuantity("-1.5")), "-1500m");
  assert.equal(formatQuantity(parseQuantity("-1.5Gi")), "-1536Mi");
  for (const parse of [parseCpuMilli, parseBytes, parseCount]) {
    assert.throws(() => parse("-1"), { code: "AKP_VALUE_OUT_OF_RANGE", advice: /between 0 and/ });
  }
});

test("an invalid quantity is rejected with the reason and an example", () => {
  const wrong = [
    "",
    ".",
    "+",
    "m",
    "Ki",
    "1 Gi",
    " 1",
    "1\n",
    "1K",
    "1mi",
    "1gb",
    "1GB",
    "1Gib",
    "1e",
    "1e1.5",
    "1.2.3",
    "--1",
    "1e3Mi",
    "0x10",
    "1,5",
  ];
  for (const text of wrong) {
    assert.throws(
      () => parseQuantity(text),
      { code: "AKP_VALUE_MALFORMED", advice: "Write it like 500m, 0.5, 512Mi or 10G." },
      text,
    );
  }
  assert.throws(() => parseQuantity("1GB"), {
    message:
      '"1GB" is not a Kubernetes quantity: "GB" is none of the suffixes n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei',
  });
});

test("a quantity beyond 64 bits is rejected instead of capped or wrapped", () => {
  assert.equal(parseBytes("9223372036854775807"), 2n ** 63n - 1n);
  for (const text of [
    "9223372036854775808",
    "9223372036854775807.000000001",
    "-9223372036854775808",
    "8Ei",
    "10E",
    "1e19",
    "1e99999999999999999999",
  ]) {
    assert.throws(() => parseQuantity(text), { code: "AKP_VALUE_OUT_OF_RANGE" }, text);
  }
});

test("an expensive text is rejected or read quickly", () => {
  assert.throws(() => parseQuantity("9".repeat(1_000_000)), { code: "AKP_VALUE_MALFORMED" });
  assert.equal(parseQuantity("1e-99999999999999999999").nano, 1n);
  assert.equal(parseQuantity("0e99999999999999999999").nano, 0n);
});

test("amounts are written in the notation that fits them", () => {
  assert.equal(formatCpuMilli(1500n), "1500m");
  assert.equal(formatCpuMilli(64_000n), "64");
  assert.equal(formatBytes(512n * 1024n ** 2n), "512Mi");
  assert.equal(formatBytes(5_000_000_000_000n, "DecimalSI"), "5T");
  assert.equal(formatBytes(1_000n), "1k", "Kubernetes falls back to powers of ten below 1024");
  assert.equal(formatBytes(-1_000n), "-1k");
  assert.equal(formatCount(8n), "8");
  assert.equal(formatBytes(10n ** 24n, "DecimalSI"), "1000000E", "a sum over a huge cluster can still be shown");
});

const nano = fc.oneof(
  fc.bigInt({ min: -(10n ** 13n), max: 10n ** 13n }),
  fc.bigInt({ min: -mostNano, max: mostNano }),
  fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }).map((whole) => whole * 10n ** 9n),
  // Round numbers of either kind.
  fc.tuple(fc.bigInt({ min: -999n, max: 999n }), fc.nat(8)).map(([few, steps]) => few * 1000n ** BigInt(steps)),
  fc.tuple(fc.bigInt({ min: -7n, max: 7n }), fc.nat(6)).map(([few, steps]) => few * 1024n ** BigInt(steps) * 10n ** 9n),
);
const format = fc.constantFrom<QuantityFormat>("DecimalSI", "BinarySI", "DecimalExponent");

test("writing loses nothing, and uses no fraction and the largest suffix of the family", () => {
  fc.assert(
    fc.property(nano, format, (value, family) => {
      const text = formatQuantity({ nano: value, format: family });
      assert.equal(parseQuantity(text).nano, value, text);
      const [, mantissa = "", suffix = ""] = /^(-?\d+)(.*)$/.exec(text) ?? [];
      const whole = value % 10n ** 9n === 0n && (value >= 1024n * 10n ** 9n || value <= -1024n * 10n ** 9n);
      const step = family === "BinarySI" && whole ? 1024n : 1000n;
      const largest = step === 1024n ? "Ei" : "E";
      assert.ok(value === 0n || suffix === largest || BigInt(mantissa) % step !== 0n, text);
      const allowed = {
        DecimalSI: /^[numkMGTPE]?$/,
        BinarySI: whole ? /^([KMGTPE]i)?$/ : /^[num]?k?$/,
        DecimalExponent: /^(e-?\d+)?$/,
      };
      assert.match(suffix, allowed[family], text);
    }),
    { numRuns: runs(1_000, 100_000) },
  );
});

/** A text in any notation, with its value as an exact fraction. */
const written = fc
  .record({
    whole: fc.oneof(fc.nat(2000).map(String), fc.stringMatching(/^\d{1,9}$/)),
    fraction: fc.oneof(fc.constant(""), fc.stringMatching(/^\d{0,12}$/)),
    suffix: fc.oneof(
      fc.constantFrom(...Object.keys(powerOf).filter((each) => each !== "E")),
      fc.constantFrom(...binary.slice(0, 3)),
      fc.integer({ min: -15, max: 8 }).map((power) => `e${power}`),
    ),
  })
  .map(({ whole, fraction, suffix }) => {
    const power = suffix.startsWith("e") ? Number(suffix.slice(1)) : (powerOf[suffix] ?? 0);
    const factor = 1024n ** BigInt(binary.indexOf(suffix) + 1);
    return {
      text: `${whole}${fraction === "" ? "" : "."}${fraction}${suffix}`,
      numerator: BigInt(whole + fraction) * factor * 10n ** BigInt(Math.max(0, power)),
      denominator: 10n ** BigInt(fraction.length + Math.max(0, -power)),
    };
  });

test("any notation is rounded up to the next whole unit, and only then", () => {
  fc.assert(
    fc.property(written, ({ text, numerator, denominator }) => {
      fc.pre(numerator < 2n ** 62n * denominator);
      for (const [got, exact] of [
        [parseBytes(text), numerator],
        [parseCpuMilli(text), numerator * 1000n],
      ] as const) {
        assert.ok(got * denominator >= exact, `${text} is not more than ${got}`);
        assert.ok((got - 1n) * denominator < exact, `${text} is more than ${got} - 1`);
      }
    }),
    { numRuns: runs(1_000, 100_000) },
  );
});

test("rounding is monotonic", () => {
  fc.assert(
    fc.property(written, written, (a, b) => {
      fc.pre(a.numerator < 2n ** 62n * a.denominator && b.numerator < 2n ** 62n * b.denominator);
      const [less, more] = a.numerator * b.denominator <= b.numerator * a.denominator ? [a, b] : [b, a];
      assert.ok(parseQuantity(less.text).nano <= parseQuantity(more.text).nano);
      assert.ok(parseCpuMilli(less.text) <= parseCpuMilli(more.text));
      assert.ok(parseBytes(less.text) <= parseBytes(more.text));
    }),
    { numRuns: runs(500, 50_000) },
  );
});
