/** The label writer against a real API server with its real managed fields. */
import { randomBytes } from "node:crypto";
import { after } from "node:test";
import { controlPlaneMissing, sharedControlPlane } from "../../lab/own-control-plane.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { checkLabelWriter, type LabelStage } from "../support/contracts/label-writer.contract.ts";
import type { Owner } from "../support/owner.ts";
import { kubectl } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing();
/** One for the whole file; each test has a node of its own, which only the API server knows. */
const kubeconfig = skip ? "" : await sharedControlPlane({ after });

async function open(owner: Owner): Promise<LabelStage> {
  const kube = openKube(owner, kubeconfig, { fieldManager: "akash-operator-inventory" });
  const node = `labels-${randomBytes(4).toString("hex")}`;
  await openKube(owner, kubeconfig, { fieldManager: "hand" }).create(kinds.node, { metadata: { name: node } });
  const edit: LabelStage["edit"] = async (manager, labels) => {
    const changes = Object.entries(labels).map(([key, value]) => (value === null ? `${key}-` : `${key}=${value}`));
    await kubectl(
      `--kubeconfig=${kubeconfig}`,
      "label",
      "node",
      node,
      "--overwrite",
      `--field-manager=${manager}`,
      ...changes,
    );
  };
  return { kube, node, edit };
}

checkLabelWriter({ name: "a real API server", skip, open });
