/** The same with pods: some of the recorded leases, on the lab. */
import { after, describe } from "node:test";
import { places } from "../../lab/places.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { checkAdoption } from "../adoption.contract.ts";
import { recordedLeases } from "../recorded-leases.ts";
import { vectorsPresent } from "../vectors.ts";
import { labIsMissing } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

const only = /objects\/(dup|two-http|count3)\/objects.json/;

describe("on the lab", { skip: labIsMissing }, () => {
  after(async () => {
    if (labIsMissing || !vectorsPresent) return;
    const kube = openKube({ after: () => undefined }, places.kubeconfig);
    for (const { from, workload } of recordedLeases()) {
      const name = leaseNamespace(workload.lease);
      const { uid } = (only.test(from) && (await kube.get(kinds.namespace, { name }))?.metadata) || {};
      if (uid !== undefined) await kube.delete(kinds.namespace, { name }, { uid });
    }
    await kube.close();
  });
  checkAdoption({
    server: "the lab",
    open: () => (owner, fieldManager) => openKube(owner, places.kubeconfig, { fieldManager }),
    only,
    hasPods: true,
  });
});
