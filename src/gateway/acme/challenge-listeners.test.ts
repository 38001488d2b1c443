import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../runtime/log.ts";
import { answerOverHttp } from "./challenge-listeners.ts";

test("only the token that was asked for is answered, and nobody once it is over", async (t) => {
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

test("a port that is taken is named with its setting", async (t) => {
  const where = { host: "127.0.0.1", port: 0, log: silentLog };
  const { port, close } = await answerOverHttp({ token: "a", proof: "a" }, where);
  t.after(() => close());
  await assert.rejects(answerOverHttp({ token: "b", proof: "b" }, { ...where, port }), {
    code: "AKP_LISTEN_FAILED",
    message: new RegExp(`the answer to http-01 cannot listen on 127.0.0.1:${port}`),
  });
});
