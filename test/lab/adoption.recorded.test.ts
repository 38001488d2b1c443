import { after, describe } from "node:test";
import { controlPlaneMissing, sharedControlPlane } from "../../lab/own-control-plane.ts";
import { checkAdoption } from "../adoption.contract.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing(["kube"]);
const kubeconfig = skip ? "" : await sharedControlPlane({ after });

describe("on a real API server", { skip }, () => {
  checkAdoption({
    server: "a real server",
    open: () => (owner, fieldManager) => openKube(owner, kubeconfig, { fieldManager }),
  });
});
