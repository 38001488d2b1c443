import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { assertCost } from "../../test/support/cost.ts";
import { runs } from "../../test/support/runs.ts";
import { webWish } from "../../test/support/samples/manifest-samples.ts";
import { ProviderError } from "../runtime/errors.ts";
import { manifestHash } from "./manifest.ts";
import { readManifest } from "./manifest-json.ts";
import { faultOfManifest } from "./manifest-rules.ts";

const mostBytes = 1_000_000;
const { manifest } = webWish({ placements: ["east", "west"] });
const whole = JSON.stringify(manifest);
const version = Buffer.from(manifestHash(manifest)).toString("hex");

function rejectionOf(body: string | Uint8Array): string {
  try {
    readManifest(body, mostBytes);
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_MANIFEST_UNREADABLE")) return thrown.message;
    throw thrown;
  }
  return assert.fail("it was not rejected");
}

const inService = (fields: string) => `[{"services":[{${fields}}]}]`;
const inValue = (value: string) => inService(`"resources":{"cpu":{"units":{"val":${value}}}}`);

/** Messages of Go's decoder. */
const mismatches: readonly (readonly [string, string])[] = [
  ["1", "json: cannot unmarshal number into Go value of type v2beta3.Manifest"],
  ["true", "json: cannot unmarshal bool into Go value of type v2beta3.Manifest"],
  ["[[]]", "json: cannot unmarshal array into Go value of type v2beta3.Group"],
  ['[{"services":{}}]', "json: cannot unmarshal object into Go struct field Group.services of type v2beta3.Services"],
  ['[{"services":[1]}]', "json: cannot unmarshal number into Go struct field Group.services of type v2beta3.Service"],
  [inService('"env":[1]'), "json: cannot unmarshal number into Go struct field Service.services.env of type string"],
  [inService('"env":"A"'), "json: cannot unmarshal string into Go struct field Service.services.env of type []string"],
  [
    inService('"expose":[{"global":"yes"}]'),
    "json: cannot unmarshal string into Go struct field ServiceExpose.services.expose.global of type bool",
  ],
  [
    inService('"expose":[{"port":-1}]'),
    "json: cannot unmarshal number -1 into Go struct field ServiceExpose.services.expose.port of type uint32",
  ],
  [
    inService('"count":1.0'),
    "json: cannot unmarshal number 1.0 into Go struct field Service.services.count of type uint32",
  ],
  [
    inService('"credentials":[]'),
    "json: cannot unmarshal array into Go struct field Service.services.credentials of type v2beta3.ImageCredentials",
  ],
  [
    inService('"resources":{"endpoints":[{"kind":"SHARED_HTTP"}]}'),
    "json: cannot unmarshal string into Go struct field Endpoint.services.resources.endpoints.kind of type v1beta4.Endpoint_Kind",
  ],
  // The first of several is reported, unless an amount is wrong.
  ['[{"name":1,"services":2}]', "json: cannot unmarshal number into Go struct field Group.name of type string"],
  [`[{"name":1},${inValue('"x"').slice(1)}`, 'math/big: cannot unmarshal "x" into a *big.Int'],
  [inValue("null"), 'math/big: cannot unmarshal "" into a *big.Int'],
  [
    inValue("{}"),
    "json: cannot unmarshal object into Go struct field ResourceValue.services.resources.cpu.units.val of type string",
  ],
  [inValue('"08"'), 'math/big: cannot unmarshal "08" into a *big.Int'],
  [inValue(`"${2n ** 256n}"`), `integer out of range: ${2n ** 256n}`],
  [inValue(`"${"9".repeat(100_000)}"`), "integer out of range"],
];

test("a wrong type is reported in Go's words", () => {
  for (const [body, message] of mismatches) assert.equal(rejectionOf(body), message, body.slice(0, 200));
});

test("amounts are read as Go's numbers and written in digits", () => {
  const amounts = {
    "007": "7",
    "010": "8",
    "0x1F": "31",
    "1_000": "1000",
    "+5": "5",
    "-5": "-5",
    "0b11": "3",
    "0": "0",
    "0o17": "15",
  };
  for (const [given, written] of Object.entries(amounts)) {
    const [group] = readManifest(inValue(`"${given}"`), mostBytes).manifest;
    assert.equal(group?.services[0]?.resources.cpu.units.val, written, given);
  }
});

test("the hash is the chain's, however the keys are ordered and written and whatever stands beside them", () => {
  const forms = [
    whole,
    ` ${JSON.stringify(manifest, undefined, 2)} and more`,
    whole.replaceAll('"name":', '"NaMe":').replaceAll('"services":', '"\u017fervices":'),
    whole.replaceAll('"image":', '"__proto__":{"image":1},"unknown":[{}],"image":'),
    whole.replaceAll('"count":1', '"count":7,"COUNT":null,"Count":1'),
    JSON.stringify(reversed(manifest)),
  ];
  for (const form of forms) {
    const read = readManifest(Buffer.from(form), mostBytes);
    assert.equal(read.version(), version, form.slice(0, 80));
    assert.deepEqual(read.manifest, manifest);
    assert.equal(faultOfManifest(read.manifest, read.lacks), undefined);
  }
});

test("what is not given is not the same as what is given empty", () => {
  const versions = ["null", "[]"].map((env) =>
    readManifest(whole.replace(/"env":\[[^\]]*\]/, `"env":${env}`), mostBytes).version(),
  );
  assert.equal(new Set([...versions, version]).size, 3);
  const omitted = ["null", "[]"].map((cases) =>
    readManifest(whole.replaceAll(/"nextCases":\[[^\]]*\]/g, `"nextCases":${cases}`), mostBytes).version(),
  );
  assert.equal(new Set(omitted).size, 1, "but where Go leaves it out");
});

test("services that lack a part are reported with it", () => {
  const { manifest, lacks } = readManifest('[{"services":[{"resources":{"id":1}},{}]}]', mostBytes);
  const reasons = manifest[0]?.services.map((service) => lacks.get(service));
  assert.deepEqual(reasons, ["CPU must not be nil", "resources ID must be > 0"]);
});

test("an oversized body is rejected before it is parsed", () => {
  for (const body of ["[".repeat(10_000_000), new Uint8Array(10_000_000)]) {
    assert.throws(() => readManifest(body, mostBytes), {
      code: "AKP_MANIFEST_TOO_LARGE",
      message: "http: request body too large",
    });
  }
});

test("any input is read or rejected with a message", () => {
  const shapes = [
    "[{",
    '"services":',
    '[{"name":"',
    '"resources":{"id":1',
    '"val":"1"',
    "}]",
    ",",
    "null",
    '"expose":[',
    "\ud800",
    "\u0000",
    "1e999",
  ];
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
    fc.array(fc.constantFrom(...shapes), { maxLength: 40 }).map((parts) => parts.join("")),
    fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify([value])),
    fc
      .tuple(fc.nat(whole.length), fc.nat(40), fc.string({ maxLength: 10 }))
      .map(([at, cut, text]) => whole.slice(0, at) + text + whole.slice(at + cut)),
  );
  fc.assert(
    fc.property(anything, (body) => {
      try {
        const { manifest, lacks } = readManifest(Buffer.from(body), mostBytes);
        faultOfManifest(manifest, lacks);
      } catch (thrown) {
        assert.ok(ProviderError.is(thrown, "AKP_MANIFEST_UNREADABLE"), String(thrown));
      }
    }),
    { numRuns: runs(100, 200_000) },
  );
});

test("the worst input within the limits costs little more than a large manifest", async () => {
  const fill = (part: string, open = "[", close = "]") =>
    `${open}${Array(Math.floor(900_000 / (part.length + 1)))
      .fill(part)
      .join(",")}${close}`;
  const worst: readonly (readonly [string, RegExp])[] = [
    [fill("{}"), /more than 50000 values/],
    [fill('{"services":[{}]}'), /more than 50000 values/],
    [fill("{}", '[{"name":"a","services":[', "]}]"), /more than 50000 values/],
    [fill('"A=b"', '[{"services":[{"name":"a","image":"b","env":[', "]}]}]"), /more than 50000 values/],
    [`[{"name":"${"a".repeat(900_000)}"}]`, /^invalid manifest: group "a{99}/],
    [`[{"services":[{"name":"${"a-".repeat(450_000)}"}]}]`, /^invalid manifest: service "(a-){49}/],
    [`{"a":"${"\\u0000".repeat(150_000)}"}`, /cannot unmarshal object/],
    [`${'{"a":'.repeat(180_000)}`, /exceeded max depth/],
  ];
  for (const [body, reason] of worst) assert.match(faultOf(body) ?? "", reason);
  const [group] = manifest;
  const services = Array.from({ length: 300 }, (_, at) => ({ ...group?.services[0], name: `s${at}` }));
  const large = JSON.stringify([{ ...group, services }]);
  const faultsOfWorst = () => worst.map(([body]) => faultOf(body));
  await assertCost(faultsOfWorst, { times: 5 * worst.length, of: () => faultOf(large) });

  function faultOf(body: string): string | undefined {
    try {
      const { manifest, lacks } = readManifest(body, mostBytes);
      return faultOfManifest(manifest, lacks);
    } catch (thrown) {
      assert.ok(ProviderError.is(thrown, "AKP_MANIFEST_UNREADABLE"), String(thrown));
      return thrown.message;
    }
  }
});

/** The same with the names in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, field]) => [name, reversed(field)]),
  );
}
