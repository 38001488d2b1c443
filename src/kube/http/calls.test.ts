/** What every call promises, requested over HTTP of servers that are slow, busy or lose their answers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../test/support/folder.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { silentLog } from "../../runtime/log.ts";
import { kinds } from "../kinds.ts";
import type { CallOptions, Kube } from "../kube.ts";
import { createHttpKube } from "./http-kube.ts";

const at = { namespace: "lease", name: "one" };

async function stage(owner: Owner, serve: RequestListener, user: object = { token: "t" }) {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    serve(request, response);
  });
  // A command begins with this; the caller that says nothing to it has not answered either.
  server.on("upgrade", () => {
    requests += 1;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const kubeconfig = join(temporaryFolder(owner), "kubeconfig");
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: "u", user }],
    }),
  );
  const clock = createVirtualClock();
  const deps = { clock, random: createSeededRandom(1), log: silentLog };
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);
  owner.after(async () => {
    await kube.close();
    server.close();
    server.closeAllConnections();
  });
  return { clock, kube, requests: () => requests };
}

type MakeCall = (kube: Kube, options: CallOptions) => Promise<unknown>;
const object = { metadata: at };
const calls: Record<string, MakeCall> = {
  get: (kube, options) => kube.get(kinds.configMap, at, options),
  list: (kube, options) => kube.list(kinds.configMap, options),
  create: (kube, options) => kube.create(kinds.configMap, object, options),
  apply: (kube, options) => kube.apply(kinds.configMap, object, options),
  "apply over a cache": (kube, options) => kube.apply(kinds.configMap, object, { ...options, live: null }),
  delete: (kube, options) => kube.delete(kinds.configMap, at, options),
  patch: (kube, options) => kube.patch(kinds.configMap, at, [], options),
  version: (kube, options) => kube.version(options),
  logs: (kube, options) => kube.logs(at, options)[Symbol.asyncIterator]().next(),
  exec: (kube, options) => kube.exec(at, { command: ["true"], ...options }),
  proxy: (kube, options) => kube.proxy({ kind: "pod", ...at, port: 80 }, options),
};

for (const [name, call] of Object.entries(calls)) {
  test(`${name} ends with its signal, also while the server is silent`, async (t) => {
    const { kube, requests } = await stage(t, () => undefined);
    const stop = new AbortController();
    const called = call(kube, { signal: stop.signal });
    await eventually("the request", () => requests() === 1);
    stop.abort(new Error("not wanted any more"));
    // A caller that ends a log himself is not reported that it ended.
    if (name === "logs") assert.deepEqual(await called, { done: true, value: undefined });
    else await assert.rejects(called, /not wanted any more/);
  });

  test(`${name} ends at its deadline, further tries and pauses included`, async (t) => {
    const { clock, kube, requests } = await stage(t, () => undefined);
    const ends: ProviderError[] = [];
    call(kube, { deadlineMs: 5_000 }).catch((thrown) => ends.push(ProviderError.from(thrown)));
    await eventually("the request", () => requests() === 1);
    await clock.advance(4_999);
    assert.equal(ends.length, 0);
    await clock.advance(1);
    await eventually("the end", () => ends.length === 1);
    assert.equal(ends[0]?.code, "AKP_KUBE_UNREACHABLE");
    assert.match(ends[0]?.message ?? "", /no answer within 5000 ms/);
    assert.equal(requests(), 1);
  });
}

test("a call that would have to wait beyond its deadline says at once what stands in its way", async (t) => {
  const { clock, kube, requests } = await stage(t, (_, response) => reject(response, 429, { retryAfterSeconds: 20 }));
  const called = kube.get(kinds.configMap, at, { deadlineMs: 10_000 });
  await assert.rejects(called, (thrown) => ProviderError.is(thrown, "AKP_KUBE_BUSY"));
  assert.equal(requests(), 1);
  assert.equal(clock.monotonicMs(), 0);
});

test("all pages of a list share its deadline", async (t) => {
  const { clock, kube, requests } = await stage(t, (_, response) => {
    clock.timer(4_000, () =>
      respond(response, 200, { metadata: { resourceVersion: "1", continue: "more" }, items: [] }),
    );
  });
  const called = assert.rejects(kube.list(kinds.pod, { deadlineMs: 10_000 }), /no answer within 2000 ms/);
  for (const pages of [1, 2, 3]) {
    await eventually("the page", () => requests() === pages);
    await clock.advance(4_000);
  }
  await called;
});

test("a credential plugin that takes its time holds no one up beyond its deadline or signal", async (t) => {
  const command = join(temporaryFolder(t), "plugin");
  // Until the folder is taken away.
  writeFileSync(command, `#!/bin/sh\nwhile [ -e ${command} ]; do sleep 0.05; done\n`);
  chmodSync(command, 0o755);
  const { clock, kube } = await stage(t, () => undefined, { exec: { command } });
  const late = kube.version({ deadlineMs: 3_000 });
  const stop = new AbortController();
  const stopped = kube.version({ signal: stop.signal });
  stop.abort(new Error("not wanted any more"));
  await assert.rejects(stopped, /not wanted any more/);
  const rejected = assert.rejects(late, (thrown) => ProviderError.is(thrown, "AKP_KUBE_PLUGIN_FAILED"));
  await clock.advance(3_000);
  await rejected;
});

test("closing ends a credential plugin that is under way, and the calls that wait for it", async (t) => {
  const folder = temporaryFolder(t);
  const [command, pid] = [join(folder, "plugin"), join(folder, "pid")];
  writeFileSync(command, `#!/bin/sh\necho $$ > ${pid}\nwhile [ -e ${command} ]; do sleep 0.05; done\n`);
  chmodSync(command, 0o755);
  const { kube } = await stage(t, () => undefined, { exec: { command } });
  const waiting = assert.rejects(kube.version(), (thrown) => ProviderError.is(thrown, "AKP_KUBE_PLUGIN_FAILED"));
  await eventually("the command", () => existsSync(pid) && readFileSync(pid, "utf8").trim() !== "");
  await kube.close();
  await waiting;
  await eventually("its end", () => !existsSync(`/proc/${readFileSync(pid, "utf8").trim()}/exe`));
});

for (const [user, secret] of [
  [{ token: "k8s-aws-v1.opaque0123456789" }, /opaque/],
  [{ username: "admin", password: "hunter2hunter2" }, /hunter2|dW50ZXI/],
] as const) {
  test(`a proxy that repeats our request does not make us report the ${Object.keys(user).at(-1)}`, async (t) => {
    const echo: RequestListener = ({ headers }, response) => {
      response.writeHead(502).end(`upstream refused\nauthorization: ${headers.authorization}`);
    };
    const { kube } = await stage(t, echo, user);
    await assert.rejects(kube.create(kinds.configMap, object), (thrown) => {
      assert.ok(ProviderError.is(thrown, "AKP_KUBE_FAILED"), String(thrown));
      assert.match(thrown.message, /upstream refused/);
      assert.doesNotMatch(`${thrown.message} ${JSON.stringify(thrown.details)}`, secret);
      return true;
    });
  });
}

const gone = { reason: "NotFound", message: `configmaps "one" not found` };
const other = { reason: "Conflict", message: "Precondition failed: UID in precondition: a, UID in object meta: b" };

test("a rejection that repeats at length what was wished is still that rejection, in a few words", async (t) => {
  const message = `Deployment.apps "web" is invalid: env[0].name: Invalid value: "${"x".repeat(100_000)}"`;
  const causes = Array.from({ length: 100 }, () => ({ reason: "FieldValueInvalid", message, field: "env[0].name" }));
  const { kube } = await stage(t, (_, response) => {
    response.writeHead(422, { "content-type": "application/json" });
    response.end(JSON.stringify({ kind: "Status", code: 422, reason: "Invalid", message, details: { causes } }));
  });
  await assert.rejects(kube.create(kinds.configMap, object), (thrown) => {
    assert.ok(ProviderError.is(thrown, "AKP_KUBE_REFUSED"), String(thrown));
    assert.match(thrown.message, /Deployment\.apps "web" is invalid: env\[0\]\.name/);
    assert.ok(JSON.stringify(thrown.details).length < 64 * 1024);
    return true;
  });
});

test("a delete of a missing object returns false", async (t) => {
  const { kube } = await stage(t, (_, response) => reject(response, 404, gone));
  assert.equal(await kube.delete(kinds.configMap, at), false);
});

for (const [how, lose] of Object.entries({
  "whose connection broke": (response: ServerResponse): void => void response.destroy(),
  "that a balancer gave up": (response: ServerResponse): void => reject(response, 504, { message: "upstream timeout" }),
})) {
  test(`a delete ${how} is not reported as "it was not there" when the next try finds nothing`, async (t) => {
    let tries = 0;
    const { clock, kube } = await stage(t, (_, response) => {
      tries += 1;
      if (tries === 1) lose(response);
      else reject(response, 404, gone);
    });
    const deleted = kube.delete(kinds.configMap, at);
    await settled(deleted, clock);
    assert.equal(await deleted, true);
    assert.equal(tries, 2);
  });
}

test("a delete whose answer was lost is done when another object has the name by then", async (t) => {
  let tries = 0;
  const { clock, kube } = await stage(t, (_, response) => {
    tries += 1;
    if (tries === 1) response.destroy();
    else reject(response, 409, other);
  });
  const deleted = kube.delete(kinds.configMap, at, { uid: "a" });
  await settled(deleted, clock);
  assert.equal(await deleted, true);
});

test("a delete that a kept connection swallowed counts as one whose answer was lost", async (t) => {
  let tries = 0;
  const { clock, kube } = await stage(t, ({ method }, response) => {
    if (method === "GET") return respond(response, 200, object);
    tries += 1;
    return tries === 1 ? void response.destroy() : reject(response, 404, gone);
  });
  await kube.get(kinds.configMap, at);
  const deleted = kube.delete(kinds.configMap, at);
  await settled(deleted, clock);
  assert.equal(await deleted, true);
});

/** Moves the clock through the pauses between tries. */
async function settled(work: Promise<unknown>, clock: ReturnType<typeof createVirtualClock>): Promise<void> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  work.then(over, over);
  await eventually("the end", async () => {
    if (!isOver) await clock.advance(100);
    return isOver;
  });
}

function reject(
  response: ServerResponse,
  code: number,
  parts: { retryAfterSeconds?: number; [field: string]: unknown },
) {
  const { retryAfterSeconds, ...status } = parts;
  respond(response, code, { kind: "Status", code, ...status, details: { name: "one", retryAfterSeconds } });
}

function respond(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
