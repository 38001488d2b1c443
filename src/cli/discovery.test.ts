import assert from "node:assert/strict";
import { createServer } from "node:http";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { ProviderError } from "../runtime/errors.ts";
import { listen } from "../runtime/listener.ts";
import { silentLog } from "../runtime/log.ts";
import { onAnyAddress } from "./discovery.ts";

function refused(code: string): ProviderError {
  const cause = Object.assign(new Error(`listen ${code}`), { code });
  const details = { what: "discovery", address: "[::]:8081", reason: cause.message, setting: "--api-port" };
  return new ProviderError("AKP_LISTEN_FAILED", details, { cause });
}

/** On a machine where a host of IPv6 cannot be listened on. */
function serveWithout(code: string, asked: string[]) {
  return async (host: string) => {
    asked.push(host);
    if (host.includes(":")) throw refused(code);
    return host;
  };
}

test("a server is reached by every family of addresses that the machine has", async (t) => {
  const server = createServer((_, response) => response.end("here"));
  const names = { what: "discovery", setting: "--api-port" };
  const { port, close } = await onAnyAddress((host) =>
    listen(server, { host, port: 0, ...names, connections: 8, log: silentLog }),
  );
  t.after(() => close());
  const loopbacks = Object.values(networkInterfaces()).flatMap(
    (each) => each?.filter(({ internal }) => internal) ?? [],
  );
  assert.ok(loopbacks.length > 0);
  for (const { address, family } of loopbacks) {
    const answer = await fetch(`http://${family === "IPv6" ? `[${address}]` : address}:${port}/`);
    assert.equal(await answer.text(), "here");
  }
});

for (const code of ["EAFNOSUPPORT", "EADDRNOTAVAIL"]) {
  test(`a machine without IPv6 (${code}) is listened on by IPv4`, async () => {
    const asked: string[] = [];
    assert.equal(await onAnyAddress(serveWithout(code, asked)), "0.0.0.0");
    assert.deepEqual(asked, ["::", "0.0.0.0"]);
  });
}

test("a port that is taken is not tried again", async () => {
  const asked: string[] = [];
  await assert.rejects(onAnyAddress(serveWithout("EADDRINUSE", asked)), { code: "AKP_LISTEN_FAILED" });
  assert.deepEqual(asked, ["::"]);
});
