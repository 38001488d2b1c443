/** The same with pods: some of the recorded leases, on the lab. */
import { after, before, describe } from "node:test";
import { places } from "../../lab/places.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { checkAdoption } from "../adoption.contract.ts";
import { recordedLeases } from "../recorded-leases.ts";
import { kubectl, labIsMissing, shareNode } from "./cluster.ts";
import { offerNode } from "./lease-look.ts";
import { openKube } from "./open-kube.ts";

const only = /objects\/(dup|two-http|count3|persistent|permissions)\/objects.json/;

const manifestNamespace = "lease";

describe("on the lab", { skip: labIsMissing }, () => {
  let endTurn: () => void = () => undefined;
  let isManifestNamespaceOurs = false;

  before(async () => {
    endTurn = await shareNode("adoption");
    isManifestNamespaceOurs = (await kubectl("get", "namespace", manifestNamespace, "--ignore-not-found")) === "";
    await offerNode();
  });

  after(async () => {
    const leases = recordedLeases().filter(({ from }) => only.test(from));
    const names = leases.map(({ workload }) => leaseNamespace(workload.lease));
    if (isManifestNamespaceOurs) names.push(manifestNamespace);
    await kubectl("delete", "namespace", "--ignore-not-found", ...names);
    endTurn();
  });

  checkAdoption({
    server: "the lab",
    open: () => (owner, fieldManager) => openKube(owner, places.kubeconfig, { fieldManager }),
    only,
    hasPods: true,
  });
});
