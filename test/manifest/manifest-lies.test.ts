/** Manifests that lie: rejected in the network's words, with nothing written and no lease woken. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { deploymentOf, formatLeaseId } from "../../src/market/ids.ts";
import { readManifest } from "../../src/market/manifest-json.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { manifestBytes } from "../../src/runtime/limits.ts";
import { bodyOf, webWish } from "../support/samples/manifest-samples.ts";
import { onManifestStage } from "../support/stages/manifest-stage.ts";

const wish = webWish();
const body = bodyOf(wish.manifest);
const volume = '{"name":"default","size":{"val":"134217728"}}';

interface Lie {
  readonly body: string;
  readonly words: string;
  /** The chain has the hash of this very lie: its teller has said so there too. */
  readonly onChain?: boolean;
}

const lies: Readonly<Record<string, Lie>> = {
  "another hash": {
    body: body.replace('"image":"web"', '"image":"evil"'),
    words: "manifest version validation failed",
  },
  "more volumes than the group": {
    body: body.replace(volume, `${volume},${volume.replace("default", "more")}`),
    words: 'manifest cross-validation error: group "west": service "on-west": Storage resources mismatch for ID 1',
    onChain: true,
  },
  "fewer volumes than the group": {
    body: body.replace(volume, ""),
    words: 'manifest cross-validation error: group "west": service "on-west": Storage resources mismatch for ID 1',
    onChain: true,
  },
  "an amount that is not there": {
    body: body.replace('"memory":{"size":{"val":"134217728"}}', '"memory":{"size":{}}'),
    words: 'manifest cross-validation error: group "west": service "on-west": Memory resources mismatch for ID 1',
    onChain: true,
  },
  "an unknown group": {
    body: body.replace('"name":"west"', '"name":"east"'),
    words: "invalid manifest: unknown deployment group ('east')",
    onChain: true,
  },
  "no service": {
    body: '[{"name":"west","services":[]}]',
    words: 'invalid manifest: group "west" contains no services',
  },
  "ten megabytes": { body: `[{"name":"${"x".repeat(10_000_000)}"}]`, words: "http: request body too large" },
  "a name that leaves its path": {
    body: body.replace('"name":"on-west"', '"name":"../../on-west"'),
    words: 'invalid manifest: service "../../on-west" name is invalid',
    onChain: true,
  },
  "a name that leaves its label": {
    body: body.replace('"name":"on-west"', `"name":"${"a".repeat(64)}"`),
    words: `invalid manifest: service "${"a".repeat(64)}" name is invalid`,
    onChain: true,
  },
  "a host in capitals": {
    body: body.replace('"hosts":null', '"hosts":["WEB.example.com"]'),
    words: 'invalid manifest: service "on-west": has invalid hostname "WEB.example.com"',
    onChain: true,
  },
  "depths without end": { body: "[".repeat(500_000), words: "exceeded max depth" },
  "half of it": { body: body.slice(0, body.length / 2), words: "unexpected EOF" },
};

test("a manifest that does not match the chain is rejected in the network's words, and leaves nothing behind", async (t) => {
  await onManifestStage(t, async (stage) => {
    const { manifests, journal } = await stage.running();
    const woken = stage.cluster.woken;
    const honest = await stage.leased(1n, wish);
    let dseq = 10n;
    for (const [name, lie] of Object.entries(lies)) {
      dseq += 1n;
      const hash = lie.onChain && Buffer.from(readManifest(lie.body, manifestBytes).version(), "hex");
      const lease = hash ? await stage.lease(await stage.post(dseq, wish, hash), wish) : honest;
      const id = deploymentOf(lease);
      const isWatched = () => journal.read.deadlines.get("manifest", formatLeaseId(lease)) !== undefined;
      await stage.until("the mirror knows it", isWatched);
      const units = journal.counts.units;
      const rejection = await manifests.submit(id, lie.body).then(
        () => assert.fail(`${name} was taken`),
        (thrown: unknown) => ProviderError.from(thrown),
      );
      assert.equal(rejection.message, lie.words, name);
      assert.ok(rejection.entry.http >= 400 && rejection.entry.http < 500, name);
      assert.equal(journal.counts.units, units, `${name} wrote something`);
    }
    assert.deepEqual([woken, journal.read.manifests.leaseIds()], [[], []]);
    assert.equal(
      journal.read.deadlines.subjects("manifest").length,
      1 + Object.values(lies).filter(({ onChain }) => onChain).length,
    );
  });
});
