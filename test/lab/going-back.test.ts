import { after, describe } from "node:test";
import { controlPlaneMissing, sharedControlPlane } from "../../lab/own-control-plane.ts";
import { checkRollback } from "../support/contracts/rollback.contract.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing(["kube"]);
const kubeconfig = skip ? "" : await sharedControlPlane({ after });

describe("on a real API server", { skip }, () => {
  checkRollback("a real server", (owner) => (fieldManager) => openKube(owner, kubeconfig, { fieldManager }));
});
