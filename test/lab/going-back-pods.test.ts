/** Going back to the Go provider and coming again, with the lab's controllers and kubelet. */
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { shellImage } from "../../lab/images.ts";
import { places } from "../../lab/places.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { checkPodsSurviveRollback, rollbackLeases } from "../support/contracts/rollback.contract.ts";
import { shop } from "../support/stages/lease-keeper-stage.ts";
import { kubectl, labIsMissing, podStartsWithinMs, shareNode } from "./cluster.ts";
import { offerNode } from "./lease-look.ts";
import { openKube } from "./open-kube.ts";

const [group] = shop({ page: shellImage, store: shellImage, permissions: true, persistent: false }).manifest;
assert.ok(group);

describe("on the lab", { skip: labIsMissing }, () => {
  let endTurn: () => void = () => undefined;
  let isManifestNamespaceOurs = false;

  before(async () => {
    endTurn = await shareNode("adoption");
    isManifestNamespaceOurs = (await kubectl("get", "namespace", "lease", "--ignore-not-found")) === "";
    await offerNode();
  });

  after(async () => {
    const names = rollbackLeases.map(leaseNamespace);
    if (isManifestNamespaceOurs) names.push("lease");
    await kubectl("delete", "namespace", "--ignore-not-found", ...names);
    endTurn();
  });

  checkPodsSurviveRollback({
    server: "the lab",
    open: (owner) => (fieldManager) => openKube(owner, places.kubeconfig, { fieldManager }),
    group,
    podsRunWithinMs: podStartsWithinMs,
  });
});
