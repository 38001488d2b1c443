/** The same with pods: some of the recorded leases, on the lab. */
import { after, before, describe } from "node:test";
import { places } from "../../lab/places.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { checkAdoption } from "../adoption.contract.ts";
import { recordedLeases } from "../recorded-leases.ts";
import { vectorsPresent } from "../vectors.ts";
import { kubectl, labIsMissing, read, takeNode } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

const only = /objects\/(dup|two-http|count3|persistent|permissions)\/objects.json/;

/** What the inventory operator of the network's provider says of a node whose volumes can be had: a count. */
const offered = { "akash.network": "true", "akash.network/capabilities.storage.class.beta2": "1" };
const manifestNamespace = "lease";

describe("on the lab", { skip: labIsMissing || (vectorsPresent ? false : "the vectors are not there") }, () => {
  let endTurn: () => void = () => undefined;
  let labelsBefore: Readonly<Record<string, string>> = {};
  let isManifestNamespaceOurs = false;

  before(async () => {
    endTurn = await takeNode();
    const { metadata } = await read<{ metadata: { labels: Record<string, string> } }>("/api/v1/nodes/lab");
    labelsBefore = metadata.labels;
    isManifestNamespaceOurs = (await kubectl("get", "namespace", manifestNamespace, "--ignore-not-found")) === "";
    await label(offered);
  });

  after(async () => {
    const leases = recordedLeases().filter(({ from }) => only.test(from));
    const names = leases.map(({ workload }) => leaseNamespace(workload.lease));
    if (isManifestNamespaceOurs) names.push(manifestNamespace);
    await kubectl("delete", "namespace", "--ignore-not-found", ...names);
    await label(Object.fromEntries(Object.keys(offered).map((name) => [name, labelsBefore[name]])));
    endTurn();
  });

  checkAdoption({
    server: "the lab",
    open: () => (owner, fieldManager) => openKube(owner, places.kubeconfig, { fieldManager }),
    only,
    hasPods: true,
  });
});

/** Removes those without a value. */
async function label(labels: Readonly<Record<string, string | undefined>>): Promise<void> {
  const given = Object.entries(labels).map(([name, value]) => (value === undefined ? `${name}-` : `${name}=${value}`));
  await kubectl("label", "node", "lab", ...given, "--overwrite");
}
