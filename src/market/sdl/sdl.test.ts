import assert from "node:assert/strict";
import { test } from "node:test";
import { parse, stringify } from "yaml";
import type { ManifestService } from "../manifest.ts";
import { manifestHash } from "../manifest.ts";
import { readSdl } from "./sdl.ts";

/** A small deployment, with parts of it replaced: "services.web.image" by its path. */
function sdlWith(changes: Record<string, unknown> = {}): string {
  const sdl = parse(`
version: "2.0"
services:
  web:
    image: nginx
    expose: [{ port: 80, to: [{ global: true }] }]
profiles:
  compute:
    small: { resources: { cpu: { units: 0.1 }, memory: { size: 512Mi }, storage: { size: 1Gi } } }
  placement:
    akash: { pricing: { small: { denom: uakt, amount: 10 } } }
deployment:
  web: { akash: { profile: small, count: 1 } }
`) as Record<string, unknown>;
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    let place = sdl;
    for (const name of names) {
      place[name] ??= {};
      place = place[name] as Record<string, unknown>;
    }
    place[last] = value;
  }
  return stringify(sdl);
}

function servicesOf(changes: Record<string, unknown>): readonly ManifestService[] {
  return readSdl(sdlWith(changes)).manifest[0]?.services ?? [];
}

function webOf(changes: Record<string, unknown>): ManifestService {
  const web = servicesOf(changes).find(({ name }) => name === "web");
  assert.ok(web);
  return web;
}

const resources = "profiles.compute.small.resources";
const second = { "services.api": { image: "api" }, "deployment.api": { akash: { profile: "small", count: 2 } } };

test("the hash is that of the sorted manifest, and does not depend on how the file is written", () => {
  const written = readSdl(sdlWith());
  const asJson = readSdl(JSON.stringify(parse(sdlWith())));
  assert.deepEqual(manifestHash(asJson.manifest), manifestHash(written.manifest));
  assert.equal(
    Buffer.from(manifestHash(written.manifest)).toString("hex"),
    "432b58d72e6a12de2f5e7ef873ab043f9ac4e46cca487d0a8de4ddc0e55c0133",
  );
});

test("services of one profile have a unit each in 2.0, and share one from 2.1 on", () => {
  const units = (version: string) => readSdl(sdlWith({ version, ...second })).groups[0]?.units ?? [];
  assert.deepEqual(
    units("2.0").map(({ id, count }) => [id, count]),
    [
      [1, 2],
      [2, 1],
    ],
  );
  for (const version of ["2.1", "v2.1.0", "3"]) {
    assert.deepEqual(
      units(version).map(({ id, count }) => [id, count]),
      [[1, 3]],
      version,
    );
  }
});

test("amounts are cut off where the network cuts them off", () => {
  const unit = (changes: Record<string, unknown>) => readSdl(sdlWith(changes)).groups[0]?.units[0];
  const cpu = (units: unknown) => unit({ [`${resources}.cpu.units`]: units })?.cpu.milli;
  assert.deepEqual([1.005, "500m", "0.25", 2, "1e1"].map(cpu), [1004n, 500n, 250n, 2000n, 10_000n]);
  const memory = (size: unknown) => unit({ [`${resources}.memory.size`]: size })?.memory.bytes;
  assert.deepEqual(["0.5Gi", "1G", "1.5Mi", 2 ** 21, "1000001k"].map(memory), [
    2n ** 29n,
    10n ** 9n,
    1_572_864n,
    2n ** 21n,
    1_000_001_000n,
  ]);
});

test("strings are taken as they were written", () => {
  const sdl = sdlWith({ "services.web.args": "ARGS" }).replace("ARGS", "[1.10, true, null, 0x1F, '~', 2026-01-01]");
  const [web] = readSdl(sdl).manifest[0]?.services ?? [];
  assert.deepEqual(web?.args, ["1.10", "true", "", "0x1F", "~", "2026-01-01"]);
});

test("a list that is not there is null, and one that is empty stays so", () => {
  const { command, args, env, expose } = webOf({ "services.web.command": [], "services.web.args": null });
  assert.deepEqual([command, args, env], [[], null, null]);
  assert.equal(expose[0]?.hosts, null);
  const to = [{ global: true }];
  assert.deepEqual(webOf({ "services.web.expose": [{ port: 80, to, accept: [] }] }).expose[0]?.hosts, []);
});

test("a port without targets is open to the own services", () => {
  const api = { ...second, "services.api": { image: "api", expose: [{ port: 3000 }] } };
  const [service] = servicesOf(api);
  assert.deepEqual(
    service?.expose.map(({ port, service: to, global }) => ({ port, to, global })),
    [{ port: 3000, to: "", global: false }],
  );
  assert.deepEqual(service?.resources.endpoints, []);
});

test("exposes are sorted by target, port, protocol, the world first", () => {
  const expose = [
    { port: 90, proto: "udp", to: [{ global: true }, { service: "api" }] },
    { port: 80, as: 8080, to: [{ service: "api" }, { global: true }] },
    { port: 80, proto: "Udp", to: [{}] },
  ];
  assert.deepEqual(
    webOf({ "services.web.expose": expose }).expose.map(({ service, port, proto, global }) =>
      [service, port, proto, global ? "world" : ""].join(" "),
    ),
    [" 80 TCP world", " 80 UDP ", " 90 UDP world", "api 80 TCP ", "api 90 UDP "],
  );
  const { endpoints } = webOf({ "services.web.expose": expose }).resources;
  assert.deepEqual(endpoints, [
    { kind: 1, sequence_number: 0 },
    { kind: 1, sequence_number: 0 },
  ]);
});

test("an address counts where it was last used among all targets, those within the deployment included", () => {
  const expose = [{ port: 80, to: [{ service: "api" }, { global: true, ip: "meow" }] }];
  const { expose: exposed, resources } = webOf({ "services.web.expose": expose, "endpoints.meow": { kind: "ip" } });
  assert.equal(exposed.find(({ ip }) => ip === "meow")?.endpointSequenceNumber, 2);
  assert.deepEqual(resources.endpoints, [{ sequence_number: 0 }, { kind: 2, sequence_number: 2 }]);
});

test("an address may be named at the port, and needs no declaration then", () => {
  const to = [{ global: true }];
  const [named] = webOf({ "services.web.expose": [{ port: 80, to, ip_name: "myip" }] }).expose;
  const declared = { "services.web.expose": [{ port: 80, to: [{ global: true, ip: "myip" }] }] };
  assert.deepEqual(named, webOf({ ...declared, "endpoints.myip": { kind: "ip" } }).expose[0]);
});

test("services that name the same address at their ports share it", () => {
  const expose = (port: number) => [{ port, as: port, to: [{ global: true }], ip_name: "shared-ip" }];
  const placed = { akash: { profile: "small", count: 1 } };
  const both = { "services.web.expose": expose(80), "services.api": { image: "api", expose: expose(8080) } };
  const { groups } = readSdl(sdlWith({ ...both, "deployment.api": placed }));
  const leased = groups.flatMap(({ units }) =>
    units.flatMap(({ endpoints }) => endpoints.filter(({ kind }) => kind === "leased-ip")),
  );
  assert.equal(leased.length, 2);
  assert.equal(new Set(leased.map(({ sequenceNumber }) => sequenceNumber)).size, 1);
});

test("volumes stand in the network's order, equal ephemeral ones reversed", () => {
  const storage = (...volumes: object[]) => {
    const [unit] = readSdl(sdlWith({ [`${resources}.storage`]: volumes })).groups[0]?.units ?? [];
    return unit?.storage.map(({ name }) => name);
  };
  const [z, y, x] = [
    { name: "z", size: "1Gi" },
    { name: "y", size: "512Mi" },
    { name: "x", size: "1Gi" },
  ];
  assert.deepEqual(storage(z, y, x), ["y", "x", "z"]);
  const ram = { name: "ram", size: "1Gi", attributes: { class: "ram" } };
  assert.deepEqual(storage(ram, z), ["z", "ram"]);
});

test("persistence may be said in YAML's old words, and its class is chosen before they are read", () => {
  const params = { "services.web.params": { storage: { data: { mount: "/data" } } } };
  const attributes = (given: object) => {
    const storage = [{ name: "data", size: "1Gi", attributes: given }];
    return webOf({ ...params, [`${resources}.storage`]: storage }).resources.storage?.[0]?.attributes;
  };
  const [persistent, standard] = [
    { key: "persistent", value: "true" },
    { key: "class", value: "default" },
  ];
  assert.deepEqual(attributes({ persistent: true }), [standard, persistent]);
  assert.deepEqual(attributes({ persistent: "yes" }), [persistent]);
  assert.deepEqual(attributes({}), [{ key: "persistent", value: "false" }]);
});

test("GPUs are named by model, memory in whole Gi and interface, sorted", () => {
  const keys = (nvidia: unknown) =>
    webOf({ [`${resources}.gpu`]: { units: 1, attributes: { vendor: { nvidia } } } }).resources.gpu.attributes?.map(
      ({ key }) => key.replace("vendor/nvidia/model/", ""),
    );
  assert.deepEqual(keys(null), ["*"]);
  assert.deepEqual(
    keys([
      { model: "t4", ram: "16384Mi" },
      { model: "a100", ram: "80Gi", interface: "sxm" },
    ]),
    ["a100/ram/80Gi/interface/sxm", "t4/ram/16Gi"],
  );
});

test("credentials of 2.0 lose their email, those of 2.1 their spaces", () => {
  const credentials = { host: " ghcr.io", username: "me ", password: " secret ", email: "me@example.com" };
  const of = (version: string) => webOf({ version, "services.web.credentials": credentials }).credentials;
  assert.deepEqual(of("2.0"), { ...credentials, email: "" });
  const trimmed = { host: "ghcr.io", username: "me", password: "secret", email: "me@example.com" };
  assert.deepEqual(of("2.1"), trimmed);
});

test("options of 0 have their usual values, and the size of buffers is left out unless given", () => {
  const options = (given: object) =>
    webOf({ "services.web.expose": [{ port: 80, to: [{ global: true }], http_options: given }] }).expose[0]
      ?.httpOptions;
  const usual = { maxBodySize: 1_048_576, readTimeout: 60_000, sendTimeout: 60_000, nextTries: 3, nextTimeout: 0 };
  assert.deepEqual(options({ max_body_size: 0, next_cases: [] }), { ...usual, nextCases: ["error", "timeout"] });
  assert.equal(options({ proxy_buffer_size: 4096 })?.proxyBufferSize, 4096);
});

test("a confidential service requires a provider with a TEE", () => {
  const { groups, manifest } = readSdl(sdlWith({ version: "2.1", "services.web.params": { tee: "cpu" } }));
  assert.deepEqual(groups[0]?.requirements.attributes, [{ key: "tee/type", value: "cpu" }]);
  assert.deepEqual(manifest[0]?.services[0]?.params, { storage: null, tee: { type: "cpu", attestation: true } });
});

test("a window for reclamations is read as Go writes durations", () => {
  const window = (min_window: string) => readSdl(sdlWith({ reclamation: { min_window } })).reclamationWindowNs;
  assert.equal(window("1h30m"), 5_400_000_000_000n);
  assert.equal(window("1.5s"), 1_500_000_000n);
  assert.equal(readSdl(sdlWith()).reclamationWindowNs, undefined);
});

const rejected: [string, Record<string, unknown>, RegExp][] = [
  ["an unknown part", { servces: {} }, /servces: is not known here/],
  ["another version", { version: "1.0" }, /version: must be "2\.0" or "2\.1"/],
  ["no version", { version: undefined }, /version: must be "2\.0" or "2\.1"/],
  ["no deployment", { deployment: undefined }, /deployment: names no service/],
  [
    "credentials without a host",
    { "services.web.credentials": { username: "me", password: "x" } },
    /credentials\.host: is missing/,
  ],
  ["no image", { "services.web.image": null }, /service "web" has empty image name/],
  [
    "a service of a strange name",
    { "services.Wéb": { image: "x" }, "deployment.Wéb": { akash: { profile: "small", count: 1 } } },
    /"Wéb" name is invalid/,
  ],
  ["a port in quotes", { "services.web.expose": [{ port: "80" }] }, /expose\[0\]\.port: must be a whole number/],
  ["a port of zero", { "services.web.expose": [{ port: 0, to: [{ global: true }] }] }, /port: must be from 1/],
  [
    "a port above all",
    { "services.web.expose": [{ port: 99_999, to: [{ global: true }] }] },
    /port: must be a whole number from 0 to 65535/,
  ],
  ["no port for the world", { "services.web.expose": [{ port: 80 }] }, /zero global services/],
  [
    "a host that is none",
    { "services.web.expose": [{ port: 80, to: [{ global: true }], accept: ["Foo_"] }] },
    /invalid hostname "Foo_"/,
  ],
  ["a variable without a name", { "services.web.env": ["=x"] }, /env\. var\. with an invalid name ""/],
  [
    "a GPU of another vendor",
    { [`${resources}.gpu`]: { units: 1, attributes: { vendor: { amd: null } } } },
    /vendor\.amd: is not known/,
  ],
  ["GPUs without a vendor", { [`${resources}.gpu`]: { units: 1 } }, /gpu\.attributes: must name a vendor/],
  [
    "a model without a GPU",
    { [`${resources}.gpu`]: { units: 0, attributes: { vendor: {} } } },
    /attributes of a gpu, and no gpu/,
  ],
  ["a negative amount", { [`${resources}.cpu.units`]: -1 }, /cpu\.units: "-1" is negative/],
  ["too little memory", { [`${resources}.memory.size`]: "1k" }, /memory in bytes must be from 1048576/],
  [
    "two volumes of one name",
    { [`${resources}.storage`]: [{ size: "1Gi" }, { size: "2Gi" }] },
    /two volumes are named default/,
  ],
  [
    "a class that needs persistence",
    { [`${resources}.storage`]: { size: "1Gi", attributes: { class: "beta3" } } },
    /needs persistent: true/,
  ],
  [
    "a persistent volume that is nowhere",
    { [`${resources}.storage`]: { size: "1Gi", attributes: { persistent: true } } },
    /where its persistent volume default is mounted/,
  ],
  [
    "a volume that is not there",
    { "services.web.params": { storage: { data: { mount: "/data" } } } },
    /has no volume of this name/,
  ],
  ["a price of nothing", { "profiles.placement.akash.pricing.small.amount": 0 }, /amount: must be above zero/],
  ["a price above all", { "profiles.placement.akash.pricing.small.amount": 10_000_001 }, /is above 10000000/],
  ["a denom that is none", { "profiles.placement.akash.pricing.small.denom": "!" }, /denom: .*is not a denom/],
  [
    "two denoms",
    {
      "profiles.compute.large": { resources: { cpu: { units: 1 }, memory: { size: "1Gi" }, storage: { size: "1Gi" } } },
      "profiles.placement.akash.pricing.large": { denom: "uact", amount: 1 },
      "services.api": { image: "api" },
      "deployment.api": { akash: { profile: "large", count: 1 } },
    },
    /in one denomination/,
  ],
  ["no count", { version: "2.1", ...second, "deployment.api.akash.count": 0 }, /api.akash.count: must be 1 or more/],
  ["a profile that is not there", { "deployment.web.akash.profile": "huge" }, /no compute profile named huge/],
  ["an unused endpoint", { "endpoints.meow": { kind: "ip" } }, /endpoints\.meow: is never used/],
  [
    "one port of an address twice",
    { "services.web.expose": [{ port: 80, to: [{ global: true }, { global: true }], ip_name: "myip" }] },
    /the port of myip is taken by web already/,
  ],
  [
    "an address for one's own services",
    {
      "services.web.expose": [{ port: 80, to: [{ service: "web", ip: "meow" }, { global: true }] }],
      "endpoints.meow": { kind: "ip" },
    },
    /an address needs global: true/,
  ],
  [
    "an address without global",
    { "services.web.expose": [{ port: 80, to: [{ ip: "meow" }, { global: true }] }], "endpoints.meow": { kind: "ip" } },
    /an address needs global: true/,
  ],
  [
    "an IP at a port that is not global",
    {
      "services.web.expose": [
        { port: 80, to: [{ global: true }] },
        { port: 81, ip_name: "myip" },
      ],
    },
    /ip_name: an address needs a target with global: true/,
  ],
  ["a window of nothing", { reclamation: { min_window: "0s" } }, /min_window: must be above zero/],
];

for (const [what, changes, reason] of rejected) {
  test(`${what} is rejected`, () => {
    assert.throws(() => readSdl(sdlWith(changes), "deploy.yaml"), { code: "AKP_SDL_REFUSED", message: reason });
  });
}

test("all faults of an SDL are reported at once", () => {
  const faulty = sdlWith({ "deployment.web.akash.profile": "huge", [`${resources}.cpu.units`]: "many", more: 1 });
  assert.throws(() => readSdl(faulty, "deploy.yaml"), {
    message: /^deploy\.yaml is not .*\n {2}- more: .*\n {2}- .*cpu\.units: .*\n {2}- deployment\.web\.akash: .*huge$/,
  });
});

test("absurd texts are rejected with a message", () => {
  const bomb = ["a: &a0 [x]", ...Array.from({ length: 30 }, (_, n) => `a${n}: &a${n + 1} [*a${n}, *a${n}]`)].join("\n");
  const many = `${sdlWith()}\nx: &many {${Array.from({ length: 900 }, (_, n) => `v${n}: {k: v}`)}}`;
  const texts: [string, RegExp][] = [
    ["x".repeat(10_000_000), /has 10000000 characters; at most 262144/],
    ["[".repeat(200_000), /more than 30000 words and signs/],
    ["[".repeat(20_000), /line 1: it is nested too deeply/],
    [`# x\n${'"'.repeat(20_000)}`, /line 2: Unexpected/],
    [bomb, /is not known here/],
    [`${many}\n${sdlWith().replace("services:", "services: *many\nservices2:")}`, /stands twice/],
    ["a: 1\na: 2", /"a" stands twice/],
    [sdlWith().replace(/\bweb\b/g, '"wéb\u{202e}😀"'), /wéb\\u\{202e\}😀" name is invalid/],
    ["- ".repeat(9_000), /nested too deeply/],
    ["---\n".repeat(9_000), /more than one document/],
    [Array.from({ length: 3_000 }, (_, n) => `k${n}: &a${n} x`).join("\n"), /is not known here/],
    ["a: *b", /Unresolved alias|stands before/],
    ["a: &a [*a]", /stands before what it names/],
    ["", /it is empty/],
    ["- a", /must be a map/],
    ["a: 1\n---\nb: 2", /more than one document/],
    [Array.from({ length: 20_000 }, (_, n) => `k${n}: 1`).join("\n"), /words and signs/],
  ];
  for (const [text, reason] of texts) {
    assert.throws(() => readSdl(text), { code: "AKP_SDL_REFUSED", message: reason }, text.slice(0, 40));
  }
});

test("exponential aliases are rejected", () => {
  const aliased = (name: string, of: string, times: number) =>
    `${name}: &${name} {${Array.from({ length: times }, (_, n) => `k${n}: *${of}`)}}`;
  const text = [
    `include: [&e {image: x, expose: [${Array.from({ length: 300 }, () => "{port: 80}")}]}]`,
    `services: {${Array.from({ length: 300 }, (_, n) => `s${n}: *e`)}}`,
  ].join("\n");
  assert.throws(() => readSdl(`version: "2.0"\n${text}\n${aliased("profiles", "e", 2)}`), {
    message: /more than 50000 fields/,
  });
  const long = `services: {s: {image: x, args: [&e ${"x".repeat(100_000)}, ${Array.from({ length: 5_000 }, () => "*e")}]}}`;
  const withPlace = `${long}\nprofiles: {compute: {c: {}}, placement: {p: {}}}\ndeployment: {s: {p: {profile: c, count: 1}}}`;
  assert.throws(() => readSdl(`version: "2.0"\n${withPlace}`), { message: /more than 1048576 characters/ });
});
