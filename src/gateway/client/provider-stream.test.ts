import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:https";
import { type TestContext, test } from "node:test";
import { type WebSocket, WebSocketServer } from "ws";
import { testKey } from "../../../test/support/chain-signing.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { makeCertificate } from "../../chain/certificates/make-certificate.ts";
import { createSigner } from "../../chain/keys/signer.ts";
import { createProviderClient, type ProviderClient } from "./provider-client.ts";
import { openShell, type ShellRequest } from "./provider-shell.ts";
import { checkClose, clientSilenceMs } from "./provider-stream.ts";

const nowMs = Date.UTC(2026, 0, 2);
const provider = createSigner(testKey("provider").secret).address;
const tenant = createSigner(testKey("tenant").secret);
const shown = makeCertificate({
  ...{ owner: provider, hosts: ["localhost"], isServer: true, serial: 7n },
  ...{ fromMs: nowMs - 86_400_000, untilMs: nowMs + 86_400_000 },
});

type Play = (webSocket: WebSocket, request: IncomingMessage) => void;

/** A gateway that speaks by itself, so that it can do what ours never would. */
async function serve(t: TestContext, play: Play | number) {
  const requests: IncomingMessage[] = [];
  const server = createServer({ cert: shown.certificate, key: shown.key });
  const webSockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    requests.push(request);
    if (typeof play === "number") return socket.end(`HTTP/1.1 ${play} No\r\nContent-Length: 4\r\n\r\nwhy\n`);
    return webSockets.handleUpgrade(request, socket, head, (webSocket) => play(webSocket, request));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const clock = createVirtualClock(nowMs);
  const client = createProviderClient({
    ...{ url: `https://localhost:${(server.address() as { port: number }).port}`, provider, clock },
    credentials: { kind: "jwt", signer: tenant },
    onChain: async () => [new X509Certificate(shown.certificate).raw],
  });
  t.after(() => {
    for (const webSocket of webSockets.clients) webSocket.terminate();
    server.close().closeAllConnections();
    client.close();
  });
  return { client, clock, requests };
}

async function read(client: ProviderClient, signal?: AbortSignal) {
  const frames: string[] = [];
  const stream = await client.stream({
    ...{ path: "/lease/1/1/1/logs?follow=true", scope: "logs", signal },
    onFrame: (bytes) => void frames.push(bytes.toString()),
  });
  return { frames, stream };
}

test("stream delivers frames in order and its close, with a token for nothing else", async (t) => {
  const { client, requests } = await serve(t, (webSocket) => {
    webSocket.send("one");
    webSocket.send("two");
    webSocket.close(4001, "gone");
  });
  const { frames, stream } = await read(client);
  const end = await stream.ended;
  assert.deepEqual([frames, end], [["one", "two"], { code: 4001, reason: "gone" }]);
  assert.throws(() => checkClose(end), /no such lease, or nothing of it runs: gone \(4001\)/);
  const { url, headers } = requests[0] ?? {};
  assert.deepEqual([url, headers?.["sec-websocket-extensions"]], ["/lease/1/1/1/logs?follow=true", undefined]);
  const [, claims = ""] = (headers?.authorization ?? "").split(".");
  const { leases, exp, iat } = JSON.parse(Buffer.from(claims, "base64url").toString());
  assert.deepEqual(leases, { access: "granular", permissions: [{ provider, access: "scoped", scope: ["logs"] }] });
  assert.equal(exp - iat, 86_400);
});

test("rejected stream → error with the provider's response", async (t) => {
  const { client } = await serve(t, 401);
  await assert.rejects(read(client), { code: "AKP_PROVIDER_REFUSED", message: /answered with 401\n.*\nwhy/ });
});

test("connection lost without a close frame → error", async (t) => {
  const { client } = await serve(t, (webSocket) => webSocket.terminate());
  const { stream } = await read(client);
  const end = await stream.ended;
  assert.equal(end.code, 1006);
  assert.throws(() => checkClose(end), { code: "AKP_PROVIDER_STREAM_ENDED", message: /connection was lost/ });
});

test("stream with pings stays open, one without times out", async (t) => {
  let there: WebSocket | undefined;
  const { client, clock } = await serve(t, (webSocket) => {
    there = webSocket;
  });
  const { stream } = await read(client);
  for (let pings = 0; pings < 20; pings += 1) {
    const answered = once(there as WebSocket, "pong");
    there?.ping();
    await answered;
    await clock.advance(10_000);
  }
  assert.equal(there?.readyState, 1);
  await clock.advance(clientSilenceMs);
  assert.match((await stream.ended).reason ?? "", /nothing was received for 45 s/);
});

test("a reader that does not keep up slows the provider, and gets everything", async (t) => {
  const frame = Buffer.alloc(64 * 1024, "x");
  const sent = { now: 0 };
  const { client } = await serve(t, (webSocket) => {
    const more = () => {
      if (sent.now === 256) return webSocket.close(1000);
      sent.now += 1;
      return webSocket.send(frame, more);
    };
    more();
  });
  const taken = Promise.withResolvers<void>();
  let frames = 0;
  const stream = await client.stream({
    ...{ path: "/logs", scope: "logs" },
    onFrame() {
      frames += 1;
      return frames === 1 ? taken.promise : undefined;
    },
  });
  const seen: number[] = [];
  const isStill = () => seen.push(sent.now) > 20 && seen.at(-20) === sent.now;
  await eventually("the provider waits", isStill);
  assert.ok(sent.now < 256 && frames < 10, `${sent.now} sent, ${frames} taken`);
  taken.resolve();
  assert.equal((await stream.ended).code, 1000);
  assert.equal(frames, 256);
});

test("client leaves → close frame; before the upgrade → connection is destroyed", async (t) => {
  const closed = Promise.withResolvers<number>();
  const { client } = await serve(t, (webSocket) => webSocket.on("close", closed.resolve));
  const abort = new AbortController();
  const { stream } = await read(client, abort.signal);
  abort.abort();
  assert.equal(await closed.promise, 1000);
  assert.equal((await stream.ended).code, 1000);
  await assert.rejects(read(client, abort.signal));
});

const request: Omit<ShellRequest, "onOutput"> = {
  ...{ leasePath: "/lease/5/1/1", service: "web", podIndex: 1, tty: true, stdin: true },
  command: ["sh", "-c", "echo a b"],
};

async function shellOf(t: TestContext, play: Play) {
  const { client, requests } = await serve(t, play);
  const output: string[] = [];
  const onOutput = (channel: string, bytes: Buffer) => void output.push(`${channel}: ${bytes}`);
  return { shell: await openShell(client, { ...request, onOutput }), output, requests };
}

test("a shell sends what is typed, its end and every size, and brings output and exit code", async (t) => {
  const came: string[] = [];
  const { shell, output, requests } = await shellOf(t, (webSocket) => {
    webSocket.on("message", (bytes: Buffer) => {
      came.push(bytes.toString("hex"));
      if (bytes.length !== 1) return;
      webSocket.send(Buffer.from("dhi\n"));
      webSocket.send(Buffer.from("eoh\n"));
      webSocket.send(Buffer.from('f{"exit_code":3}\n'));
    });
  });
  await shell.resize({ columns: 80, rows: 24 });
  await shell.write(Buffer.from("ls\n"));
  await shell.endInput();
  assert.equal(await shell.exit, 3);
  assert.deepEqual(output, ["stdout: hi\n", "stderr: oh\n"]);
  assert.deepEqual(came, ["6900500018", "686c730a", "68"]);
  assert.equal(
    requests[0]?.url,
    "/lease/5/1/1/shell?service=web&podIndex=1&tty=1&stdin=1&cmd0=sh&cmd1=-c&cmd2=echo+a+b",
  );
});

const failures: readonly { when: string; play: Play; says: RegExp }[] = [
  {
    when: "a provider says why a command did not run",
    play: (webSocket) => webSocket.send(Buffer.from('f{"exit_code":0,"message":"no such \\u001b[2Jcommand"}\n')),
    says: /^lease shell failed: no such \\u\{1b\}\[2Jcommand$/,
  },
  {
    when: "a provider hides why",
    play: (webSocket) => webSocket.send(Buffer.from("g")),
    says: /^lease shell failed: unknown error$/,
  },
  {
    when: "a result is none",
    play: (webSocket) => webSocket.send(Buffer.from("f{}")),
    says: /^lease shell failed: its result cannot be read$/,
  },
  { when: "the provider goes", play: (webSocket) => webSocket.terminate(), says: /connection was lost/ },
  {
    when: "the provider ends the stream before the command",
    play: (webSocket) => webSocket.close(1000),
    says: /^lease shell failed: the connection ended before the command did$/,
  },
];

for (const { when, play, says } of failures) {
  test(`a shell fails in words where ${when}`, async (t) => {
    const { shell } = await shellOf(t, play);
    await assert.rejects(shell.exit, { message: says });
  });
}
