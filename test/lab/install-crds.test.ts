/** `akash-provider install crds`, as an operator gives it, on clusters that have nothing yet and that have another's. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { controlPlaneMissing, startControlPlane } from "../../lab/own-control-plane.ts";
import { kinds, resourceOf } from "../../src/kube/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { definitionOf } from "../support/kube/kube-definition.ts";
import { clusterMs } from "../support/kube/kube-objects.ts";
import type { Owner } from "../support/owner.ts";
import { startProgram } from "../support/program.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing();
const kubeconfig = skip ? "" : (await startControlPlane({ after })).kubeconfig;
const kube = skip ? undefined : openKube({ after }, kubeconfig);
const definition = { name: resourceOf(kinds.providerLeasedIp) };

describe("installing our definitions on a real API server", { skip }, () => {
  it("says what it would do and does nothing", async (t) => {
    assert.equal(
      await install(t, "--dry-run"),
      `crd manifests.akash.network  would be written
crd providerhosts.akash.network  would be written
crd providerleasedips.akash.network  would be written
namespace lease  would be written
`,
    );
    assert.equal(await kube?.get(kinds.customResourceDefinition, definition), undefined);
    assert.equal(await kube?.get(kinds.namespace, { name: "lease" }), undefined);
  });

  it("takes the place of definitions that a chart brought, with all that is kept there", async (t) => {
    assert.ok(kube);
    // The network's: it knows no camel case, and some objects are older than the version that is served.
    const chart = openKube(t, kubeconfig, { fieldManager: "helm" });
    const spec = { type: "object", properties: { service_name: { type: "string" } } };
    await chart.create(kinds.customResourceDefinition, definitionOf(kinds.providerLeasedIp, { spec }));
    const old = { metadata: { namespace: "default", name: "old" }, spec: { service_name: "web" } };
    const { metadata } = await eventually("it", () => chart.create(kinds.providerLeasedIp, old), clusterMs);

    assert.match(await install(t), /^(crd \S+ {2}written\n){3}namespace lease {2}written\n$/);
    const kept = await kube.get(kinds.providerLeasedIp, old.metadata);
    assert.equal(kept?.metadata.uid, metadata.uid);
    assert.deepEqual(kept?.["spec"], old.spec);
    const camel = { metadata: { namespace: "lease", name: "camel" }, spec: { serviceName: "web", externalPort: 80 } };
    // A server with much to do needs a moment until the new schema is in effect.
    await eventually("the new schema", async () => {
      const made = await kube.apply(kinds.providerLeasedIp, camel, { force: true });
      const live = made.object ?? (await kube.get(kinds.providerLeasedIp, camel.metadata));
      return JSON.stringify(live?.["spec"]) === JSON.stringify({ externalPort: 80, serviceName: "web" });
    });
    assert.match(await install(t), /^(crd \S+ {2}as it should be\n){3}namespace lease {2}as it should be\n$/);
  });
});

async function install(owner: Owner, ...args: string[]): Promise<string> {
  const program = startProgram(owner, ["install", "crds", "--kubeconfig", kubeconfig, ...args]);
  assert.equal(await program.ended(), 0, program.said);
  return program.said;
}
