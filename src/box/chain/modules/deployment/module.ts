/** The module as the application sees it. */
import type { Module } from "../../module.ts";
import { type DeploymentDeps, deploymentMessages } from "./messages.ts";
import { deploymentQueries } from "./queries.ts";

export function deploymentModule(deps: DeploymentDeps): Module {
  return { name: "deployment", messages: deploymentMessages(deps), queries: deploymentQueries(deps.params) };
}
