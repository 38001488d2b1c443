/** Tenants who read slowly, of real containers. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { startMarket, startProvider } from "../../bench/leases-market.ts";
import { firstOfCrowd, firstOfOther, leaseOf } from "../../bench/leases-people.ts";
import { holdSlowReaders } from "../../bench/slow-readers.ts";
import { deploy, scripted, startStreamClients } from "../../bench/stream-clients.ts";
import { shellImage } from "../../lab/images.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { temporaryFolder } from "../support/folder.ts";
import { kubectl, labIsMissing } from "./cluster.ts";
import { providerAccount } from "./provider-account.ts";

const talker = "seq 1 50000; trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";

test("fifty slow readers of logs and twenty of shells cost little memory, and another tenant is answered meanwhile", {
  skip: labIsMissing,
}, async (t) => {
  const account = await providerAccount(t);
  const market = await startMarket(t);
  const provider = await startProvider(
    ...[market.rpcUrl, account.kubeconfig, join(temporaryFolder(t), "data")],
    ...(["gateway", `leases-in=${account.leaseNamespace}`] as const),
  );
  t.after(provider.stop);
  // The node has two processors, and other tests run there too.
  const sdl = scripted(shellImage, talker, "0.1");
  await kubectl("label", "node", "lab", "akash.network=true", "--overwrite");
  for (const dseq of [firstOfOther, firstOfCrowd]) {
    t.after(
      async () => void (await kubectl("delete", "namespace", "--ignore-not-found", leaseNamespace(leaseOf(dseq)))),
    );
    await market.lease([dseq], sdl);
    await deploy(provider.start.port, dseq, sdl);
  }
  const crowd = { dseqs: [firstOfCrowd], logs: 50, shells: 20, otherDseq: firstOfOther };
  const reading = await holdSlowReaders(provider, startStreamClients(t), crowd);
  t.diagnostic(JSON.stringify(reading));
  assert.deepEqual([reading.open, reading.failure], [70, undefined]);
  assert(reading.addedMb <= 200, `${reading.addedMb} MB more`);
});
