import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import type { ExecOptions, ExecSession, ObjectAt } from "../../../kube/kube.ts";
import type { Address } from "../../../market/address.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { kubeCallMs } from "../../../runtime/limits.ts";
import { silentLog } from "../../../runtime/log.ts";
import type { LeasePod } from "../../capacity/reservations/lease-watches.ts";
import { createLeaseShell, endScript, shellCloseMs, shellEndsAtOnce } from "./lease-shell.ts";

const leaseOf = (dseq: bigint) => ({
  owner: "akash1tenant" as Address,
  provider: "akash1provider" as Address,
  ...{ dseq, gseq: 1, oseq: 1, bseq: 0 },
});
const [lease, other] = [leaseOf(1n), leaseOf(2n)];

/** A container whose shell is of its tenant's own making: it answers the mark with what is given, and stays until it is cut off. */
function stage(words: (mark: string) => string) {
  const clock = createVirtualClock();
  const open = new Set<ExecSession>();
  const ends: string[] = [];
  const kube = {
    async exec({ namespace }: ObjectAt, { command, signal }: ExecOptions) {
      signal?.throwIfAborted();
      const exit = Promise.withResolvers<number>();
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      const session: ExecSession = {
        ...{ stdin: new PassThrough(), stdout, stderr, resize: () => undefined, exit: exit.promise },
        close() {
          open.delete(session);
          exit.reject(new Error("cut off"));
          stdout.end();
          stderr.end();
        },
      };
      exit.promise.catch(() => undefined);
      signal?.addEventListener("abort", session.close);
      open.add(session);
      if (command[2] === endScript) ends.push(namespace ?? "");
      else stdout.write(words(command[4] ?? ""));
      return session;
    },
  };
  const pod = { name: "web-0", facts: { service: "web", state: "ready" } } as LeasePod;
  const random = createSeededRandom(1);
  const shells = createLeaseShell({ kube, pods: { in: () => [pod] }, clock, random, log: silentLog });
  const run = (of: typeof lease, signal = new AbortController().signal) =>
    shells.exec(of, { service: "web", podIndex: 0, command: ["true"], tty: false, stdin: false, signal });
  return { clock, open, ends, shells, run };
}

test("a container whose shell says something else and stays keeps nothing of ours", async () => {
  for (const words of [(mark: string) => `${mark} what;`, (mark: string) => `${mark} missing;`, () => "welcome\n"]) {
    const { clock, open, run } = stage(words);
    const rejected = run(lease).then(
      () => "started",
      (thrown: unknown) => ProviderError.from(thrown).code,
    );
    await clock.advance(2 * kubeCallMs);
    assert.match(await rejected, /^AKP_SHELL_(NOT_STARTED|NO_SUCH_COMMAND)$/);
    assert.equal(open.size, 0);
  }
});

test("a shell of a container that ends in the middle of its first word fails alone", async () => {
  const { clock, open, run } = stage(() => "hi");
  const rejected = assert.rejects(run(lease), /cut off/);
  await clock.advance(1);
  // The connection goes before its shell has said all that we wait for.
  for (const session of open) session.close();
  await clock.advance(1);
  await rejected;
  assert.equal(open.size, 0);
});

test("commands that one tenant's shells do not end do not delay the end of others", async () => {
  const { clock, ends, run, shells, open } = stage((mark) => `${mark} 7;`);
  const left = new AbortController();
  const hostile = Array.from({ length: 2 * shellEndsAtOnce }, () => run(lease, left.signal));
  await Promise.all(hostile);
  left.abort();
  await clock.advance(1);
  assert.equal(ends.length, shellEndsAtOnce);
  const leaves = new AbortController();
  await run(other, leaves.signal);
  leaves.abort();
  await clock.advance(kubeCallMs);
  assert.ok(ends.includes(leaseNamespace(other)));
  const closed = shells.close();
  await clock.advance(shellCloseMs);
  await closed;
  assert.equal(open.size, 0);
});
