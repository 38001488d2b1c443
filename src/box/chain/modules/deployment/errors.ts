/** Errors of the deployment module. */
import { codespace } from "../../errors.ts";

export const deploymentError = codespace("deployment", {
  deploymentExists: [3, "Deployment exists"],
  deploymentNotFound: [4, "Deployment not found"],
  deploymentClosed: [5, "Deployment closed"],
  invalidGroups: [7, "Invalid groups"],
  emptyHash: [9, "Invalid: empty hash"],
  invalidHash: [10, "Invalid: deployment hash"],
  groupNotFound: [14, "Group not found"],
  groupClosed: [15, "Group already closed"],
  groupOpen: [16, "Group open"],
  groupPaused: [17, "Group paused"],
  invalidDeposit: [20, "Deposit invalid"],
  invalidPrice: [24, "invalid price"],
  duplicateGroupName: [25, "duplicate group name"],
  invalidReclamation: [26, "invalid reclamation configuration"],
});
