import { after } from "node:test";
import { checkRecordedLeases } from "./recorded-leases.contract.ts";
import { simulateKube } from "./simulated-kube.ts";

checkRecordedLeases("the simulated server", () => simulateKube({ after }).connect("akash-provider"));
