import { after } from "node:test";
import { checkRecordedLeases } from "../support/contracts/recorded-leases.contract.ts";
import { simulateKube } from "../support/kube/simulated-kube.ts";

checkRecordedLeases("the simulated server", () => simulateKube({ after }).connect("akash-provider"));
