import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { silentLog } from "../../runtime/log.ts";
import { acmeAdapter, acmeAnswerBytes, acmePauseMostMs, answerOverHttp, withAcmeCall } from "./authority.ts";

async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/order`;
}

function ask(url: string, signal = new AbortController().signal) {
  return withAcmeCall({ clock: realClock, signal }, () => acmeAdapter({ url, method: "post", data: "{}" }));
}

async function rejection(request: Promise<unknown>): Promise<ProviderError> {
  const thrown = await request.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof ProviderError, `${thrown}`);
  return thrown;
}

test("error of the authority → its message, shortened, with Retry-After", async (t) => {
  const problem = {
    type: "urn:ietf:params:acme:error:rateLimited",
    detail: `too many\ncertificates ${"x".repeat(5_000)}`,
  };
  const headers = { "content-type": "application/problem+json", "retry-after": "90" };
  const url = await serve(t, (_, answer) => void answer.writeHead(429, headers).end(JSON.stringify(problem)));
  const { code, message, details } = await rejection(ask(url));
  assert.equal(code, "AKP_ACME_REFUSED");
  assert.match(message, /rateLimited: too many certificates x/);
  assert.ok(message.length < 600);
  assert.partialDeepStrictEqual(details, { status: 429, kind: "rateLimited", retryAfterMs: 90_000 });
});

test("Retry-After is capped at our own longest back-off", async (t) => {
  for (const retryAfter of ["9999999", "Fri, 01 Jan 2100 00:00:00 GMT"]) {
    const url = await serve(t, (_, answer) => void answer.writeHead(503, { "retry-after": retryAfter }).end("<html>"));
    const { message, details } = await rejection(ask(url));
    assert.match(message, /no reason given: status 503/);
    assert.equal(details["retryAfterMs"], acmePauseMostMs);
  }
});

test("badNonce → left to acme-client, which retries", async (t) => {
  const body = JSON.stringify({ type: "urn:ietf:params:acme:error:badNonce" });
  const url = await serve(t, (_, answer) => void answer.writeHead(400, { "replay-nonce": "next" }).end(body));
  const { status, headers, data } = await ask(url);
  assert.deepEqual([status, headers["replay-nonce"], data], [400, "next", body]);
});

test("no connection, redirect of a POST, endless response → unreachable with the reason", async (t) => {
  const gone = await serve(t, (_, answer) => void answer.destroy());
  assert.match((await rejection(ask(gone))).message, /cannot be reached at http:.*: other side closed/);
  const moved = await serve(t, (_, answer) => void answer.writeHead(307, { location: "/elsewhere" }).end());
  assert.match((await rejection(ask(moved))).message, /redirect/);
  const endless = await serve(t, (_, answer) => void answer.end("x".repeat(acmeAnswerBytes + 1)));
  assert.match((await rejection(ask(endless))).message, /longer than/);
});

test("aborted signal → the request ends", async (t) => {
  const abort = new AbortController();
  const url = await serve(t, () => abort.abort());
  await assert.rejects(ask(url, abort.signal), { name: "AbortError" });
});

test("only the challenge's token is served, and none after it", async (t) => {
  const where = { host: "127.0.0.1", port: 0, log: silentLog };
  const listener = await answerOverHttp({ token: "abc", proof: "abc.thumbprint" }, where);
  t.after(() => listener.close());
  const ask = async (path: string, method = "GET") => {
    const answer = await fetch(`${listener.url}/${path}`, { method });
    return [answer.status, await answer.text()];
  };
  assert.deepEqual(await ask(".well-known/acme-challenge/abc"), [200, "abc.thumbprint"]);
  for (const path of ["", ".well-known/acme-challenge/", ".well-known/acme-challenge/abcd", "../abc"]) {
    assert.deepEqual(await ask(path), [404, ""], path);
  }
  assert.deepEqual(await ask(".well-known/acme-challenge/abc", "POST"), [404, ""]);
  await listener.close();
  await assert.rejects(ask(".well-known/acme-challenge/abc"));
});

test("port in use → the error names the setting", async (t) => {
  const where = { host: "127.0.0.1", port: 0, log: silentLog };
  const { port, close } = await answerOverHttp({ token: "a", proof: "a" }, where);
  t.after(() => close());
  await assert.rejects(answerOverHttp({ token: "b", proof: "b" }, { ...where, port }), {
    code: "AKP_LISTEN_FAILED",
    message: new RegExp(`the answer to http-01 cannot listen on 127.0.0.1:${port}`),
  });
});
