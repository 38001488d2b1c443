import { after, describe } from "node:test";
import { controlPlaneMissing, sharedControlPlane } from "../../lab/own-control-plane.ts";
import { checkRecordedLeases } from "../support/contracts/recorded-leases.contract.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing(["kube"]);
const kubeconfig = skip ? "" : await sharedControlPlane({ after });

describe("on a real API server", { skip }, () => {
  checkRecordedLeases("a real server", () => openKube({ after }, kubeconfig));
});
