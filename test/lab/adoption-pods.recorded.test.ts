/** The same with pods: some of the recorded leases, on the lab. */
import { after, before, describe } from "node:test";
import { places } from "../../lab/places.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { checkAdoption } from "../support/contracts/adoption.contract.ts";
import { recordedLeases } from "../support/samples/recorded-leases.ts";
import { kubectl, labIsMissing, shareNode } from "./cluster.ts";
import { offerNode } from "./lease-look.ts";
import { openKube } from "./open-kube.ts";

const names = /objects\/(dup|two-http|count3|persistent|permissions)\/objects.json/;
const leases = () => recordedLeases().filter(({ from }) => names.test(from));

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
    const namespaces = leases().map(({ workload }) => leaseNamespace(workload.lease));
    if (isManifestNamespaceOurs) namespaces.push(manifestNamespace);
    await kubectl("delete", "namespace", "--ignore-not-found", ...namespaces);
    endTurn();
  });

  checkAdoption({
    server: "the lab",
    open: () => (owner, fieldManager) => openKube(owner, places.kubeconfig, { fieldManager }),
    leases,
    hasPods: true,
  });
});
