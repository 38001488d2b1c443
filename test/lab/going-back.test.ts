import { after, describe } from "node:test";
import { controlPlaneMissing, startControlPlane } from "../../lab/own-control-plane.ts";
import { checkGoingBack } from "../going-back.contract.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing(["kube"]);
const kubeconfig = skip ? "" : (await startControlPlane({ after })).kubeconfig;

describe("on a real API server", { skip }, () => {
  checkGoingBack("a real server", (owner) => (fieldManager) => openKube(owner, kubeconfig, { fieldManager }));
});
