/**
 * What we make of every lease that was recorded from the Go provider, compared field for field with what that
 * one made. Where we mean to differ there is a row with the reason; a row that no recording needs is one too many.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { isRecord } from "../../src/runtime/is-record.ts";
import { type Difference, differences } from "../support/kube/object-differences.ts";
import { objectsOf, type RecordedLease, recordedLeases } from "../support/samples/recorded-leases.ts";
import { withoutDefaults } from "../support/samples/recorded-objects.ts";
import { type IntendedDifference, intended, isIntended } from "./intended-differences.ts";

const made = { manifestNamespace: "lease", staticHostDomain: "ingress.lab.test", version: "" };

test("every recorded lease becomes the recorded objects, but for what we mean to do otherwise", () => {
  const used = new Set<IntendedDifference>();
  const unintended: string[] = [];
  const leases = recordedLeases();
  for (const lease of leases) {
    for (const { kind, name, ...difference } of differencesOf(lease)) {
      const row = intended.find((each) => isIntended(each, { from: lease.from, kind, ...difference }));
      if (row) used.add(row);
      else unintended.push(`${lease.from} ${kind} ${name} ${JSON.stringify(difference)}`);
    }
  }
  assert.deepEqual(unintended, []);
  assert.deepEqual(
    intended.filter((row) => !used.has(row)).map(({ why }) => why),
    [],
    "no recording needs these rows",
  );
  assert.ok(leases.length >= 68, `only ${leases.length} were recorded`);
});

test("a difference that nobody means is found wherever it is", () => {
  const web = { image: "web", env: [{ name: "A", value: "1" }, { name: "B" }] };
  const isUnintended = (ours: object) =>
    differences({ spec: web }, { spec: ours }).some(
      (each) => !intended.some((row) => isIntended(row, { from: "", kind: "Deployment", ...each })),
    );
  assert.ok(!isUnintended(web));
  assert.ok(isUnintended({ ...web, image: "other" }));
  assert.ok(isUnintended({ ...web, env: web.env.toReversed() }));
  assert.ok(isUnintended({ ...web, env: [{ name: "A", value: "2" }, { name: "B" }] }));
  assert.ok(isUnintended({ ...web, env: web.env.slice(1) }));
  assert.ok(isUnintended({ ...web, args: [] }));
});

type Named = Difference & { readonly kind: string; readonly name: string };

function differencesOf(lease: RecordedLease): Named[] {
  const recorded = byName(lease.objects.map((object) => withHashes(object, lease.secretSha256)));
  const ours = byName(objectsOf(lease, made).map(({ kind, object }) => withHashes({ ...object, kind: kind.kind })));
  return [...new Set([...recorded.keys(), ...ours.keys()])].flatMap((key) => {
    const [kind = "", name = ""] = key.split(" ");
    const [theirs, own] = [recorded.get(key), ours.get(key)];
    const found =
      theirs && own
        ? differences(withoutDefaults(theirs), withoutDefaults(own))
        : [{ at: "", recorded: theirs, ours: own }];
    return found.map((each) => ({ ...each, kind, name }));
  });
}

function byName(objects: readonly KubeObject[]): Map<string, KubeObject> {
  return new Map(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}

/** What a secret holds was recorded as a hash. */
function withHashes(object: KubeObject, recorded?: Readonly<Record<string, string>>): KubeObject {
  if (object.kind !== kinds.secret.kind || !isRecord(object["data"])) return object;
  const hash = (key: string, value: unknown) =>
    recorded?.[`${object.metadata.name}/${key}`] ??
    createHash("sha256")
      .update(Buffer.from(String(value), "base64"))
      .digest("hex");
  const data = Object.fromEntries(Object.entries(object["data"]).map(([key, value]) => [key, hash(key, value)]));
  return { ...object, data };
}
