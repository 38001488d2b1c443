/** Requests of one tenant do not affect the hostname operator, the provider or other tenants. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { middleware, serversTransport } from "../../src/operators/hostname/backends/backend.ts";
import { createProbes, probeEveryMs, probesOfOwner } from "../../src/operators/hostname/checks.ts";
import { conditionChars, createHostStates } from "../../src/operators/hostname/host-states.ts";
import { hostnameMethods, messageBytes } from "../../src/operators/hostname/serving.ts";
import { probeMs } from "../../src/provider/hostname-process.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { condition } from "../../src/runtime/condition.ts";
import { operatorHostnameV1State } from "../../src/runtime/grpc/akash-proto.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { groupOf, leaseOf } from "../support/stages/declaration-stage.ts";
import { controllerKinds, openHostnameStage, stateText } from "../support/stages/hostname-stage.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { allocatedBytes } from "./heap.ts";

const [ann, ben] = [leaseOf(1, 1), leaseOf(2, 1)];
const host = "a.example.com";
const usual = { maxBodySize: 1_048_576, readTimeout: 60_000, sendTimeout: 60_000, nextTries: 3, nextTimeout: 0 };

test("a repeated option is reported once", async (t) => {
  const stage = openHostnameStage(t);
  stage.define(...controllerKinds.traefik);
  const nextCases = Array.from({ length: 49_000 }, () => "502");
  stage.lease(ann, groupOf({ httpOptions: { ...usual, nextCases } }));
  stage.declare(host, ann);
  const { operator } = stage.start({ ingressProvider: "traefik" });
  await stage.settled(20_000);
  const messages = operator.states.get(host)?.conditions.map(({ message }) => message) ?? [];
  assert.ok(
    messages.some((message) => message.startsWith("next_cases 502: ")),
    messages.join(),
  );
});

test("unlimited sizes, timeouts and tries are bounded and reported", async (t) => {
  const most = 4_294_967_295;
  const httpOptions = { maxBodySize: most, readTimeout: most, sendTimeout: most, nextTries: most, nextTimeout: 0 };
  for (const ingressProvider of ["nginx", "traefik"] as const) {
    const stage = openHostnameStage(t);
    stage.define(...controllerKinds.traefik);
    stage.lease(ann, groupOf({ httpOptions: { ...httpOptions, nextCases: ["error"] } }));
    stage.declare(host, ann);
    const { operator } = stage.start({ ingressProvider });
    await stage.settled(20_000);
    const made = [kinds.ingress, middleware, serversTransport].flatMap((kind) => stage.routes(kind));
    assert.doesNotMatch(JSON.stringify(made), /42949/, ingressProvider);
    const messages = operator.states.get(host)?.conditions.map(({ message }) => message) ?? [];
    assert.deepEqual(
      messages.filter((message) => message.endsWith("is the most")),
      [
        `max_body_size ${most}: 104857600 is the most`,
        `read_timeout ${most}: 60000 is the most`,
        `send_timeout ${most}: 60000 is the most`,
        `next_tries ${most}: 10 is the most`,
      ],
    );
  }
});

test("a long message of a controller is truncated", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, groupOf({}));
  stage.declare(host, ann);
  const { operator } = stage.start({
    through: (kube) => ({ ...kube, apply: () => Promise.reject(new Error("no ".repeat(100_000))) }),
  });
  await stage.settled();
  const [failed] = operator.states.get(host)?.conditions ?? [];
  assert.equal(failed?.type, "RouteFailed");
  assert.equal(failed?.message.length, conditionChars + 1);
});

test("a declaration with an invalid port does not break the stream of other names", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, groupOf({}));
  stage.declare(host, ann);
  const ports = [-1, 65_536, 2 ** 40];
  for (const [at, port] of ports.entries()) stage.declare(`p${at}.example.com`, ann, "web", port);
  const { operator } = stage.start();
  await stage.settled();
  const { states } = operator;
  const source = { states, waitingFor: () => undefined, leading: () => true, backend: "Traefik" };
  const getState = hostnameMethods(source).find(([path]) => path.endsWith("/GetState"))?.[1];
  assert.ok(getState?.kind === "unary");
  const { message } = await getState.answer(new Uint8Array(), {} as never);
  const { hostnames } = operatorHostnameV1State.decode(message);
  assert.deepEqual(
    hostnames.map(({ hostname, state }) => `${hostname} ${state}`).sort(),
    [`${host} served`, ...ports.map((_, at) => `p${at}.example.com refused`)].sort(),
  );
});

test("a declared name with thousands of labels takes little memory", async (t) => {
  const stage = openHostnameStage(t);
  const long = `${"a.".repeat(6_000)}com`;
  stage.declare(long, ann);
  const bytes = await allocatedBytes(async () => {
    const { operator } = stage.start();
    await stage.settled();
    assert.equal(stateText(operator.states.get(long)), "refused unknown: HostnameInvalid");
  });
  assert.ok(bytes < 10_000_000, `${bytes} bytes`);
});

test("names with many conditions are split into messages within the client's limit", async () => {
  const states = createHostStates();
  const conditions = Array.from({ length: 10 }, () => condition("OptionNotHonoured", "m".repeat(500)));
  const rest = { lease: ann, namespace: "ns", service: "web", externalPort: 80, endpoints: undefined, conditions };
  for (let at = 0; at < 2_000; at++)
    states.record({ host: `h${at}`, state: "served", health: "healthy", route: "accepted", ...rest }, 0);
  const source = { states, waitingFor: () => undefined, leading: () => true, backend: "Traefik" };
  const stream = hostnameMethods(source).find(([path]) => path.endsWith("/StreamState"))?.[1];
  assert.ok(stream?.kind === "stream");
  const seen = new Set<string>();
  const over = new AbortController();
  for await (const bytes of stream.answers(new Uint8Array(), { signal: over.signal } as never)) {
    assert.ok(bytes.length < messageBytes + 10_000, `${bytes.length} bytes`);
    const message = operatorHostnameV1State.decode(bytes);
    assert.equal(message.whole, seen.size === 0);
    for (const { hostname } of message.hostnames) seen.add(hostname);
    if (message.settled) break;
  }
  assert.equal(seen.size, 2_000);
});

test("hanging names of one owner do not delay probes of another", async (t) => {
  const clock = createVirtualClock();
  const hung = Array.from({ length: 1_000 }, (_, at) => ({ host: `h${at}.example.org`, owner: ben.owner }));
  let [underWay, most] = [0, 0];
  let status = 200;
  const probes = createProbes({
    ...{ clock, random: createSeededRandom(1), log: silentLog, onChange: () => undefined },
    served: () => [...hung, { host, owner: ann.owner }],
    async probe(name, signal) {
      if (name === host) return status;
      most = Math.max(most, ++underWay);
      await sleep(clock, probeMs, signal).finally(() => underWay--);
      throw new Error("timed out");
    },
  });
  const over = new AbortController();
  const running = probes.run(over.signal).catch(() => undefined);
  t.after(async () => {
    over.abort();
    await clock.advance(0);
    await running;
  });
  await clock.advance(probeEveryMs + probeMs + 1);
  assert.equal(probes.conditionsOf("h0.example.org").length, 1, "results are reported before the round ends");
  status = 502;
  await clock.advance(probeEveryMs);
  assert.deepEqual(probes.conditionsOf(host), [condition("ProbeFailed", "a probe was answered with status 502")]);
  assert.equal(most, probesOfOwner);
});
