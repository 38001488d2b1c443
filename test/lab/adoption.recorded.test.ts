import { after, describe } from "node:test";
import { controlPlaneMissing, startControlPlane } from "../../lab/own-control-plane.ts";
import { checkAdoption } from "../adoption.contract.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing(["kube"]);
const kubeconfig = skip ? "" : (await startControlPlane({ after })).kubeconfig;

describe("on a real API server", { skip }, () => {
  checkAdoption({
    server: "a real server",
    open: () => (owner, fieldManager) => openKube(owner, kubeconfig, { fieldManager }),
  });
});
