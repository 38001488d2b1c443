import { checkAdoption } from "../support/contracts/adoption.contract.ts";
import { checkRollback } from "../support/contracts/rollback.contract.ts";
import { simulateKube } from "../support/kube/simulated-kube.ts";
import { recordedLeases } from "../support/samples/recorded-leases.ts";
import { thorough } from "../support/thorough.ts";

checkAdoption({
  server: "the simulated server",
  open(owner) {
    const cluster = simulateKube(owner);
    return (_owner, fieldManager) => cluster.connect(fieldManager);
  },
  // One with lists that no apply takes, one with volumes and a field that the server dropped.
  leases: () => recordedLeases().filter(({ from }) => thorough || /objects\/(dup|persistent)\/objects.json/.test(from)),
});

checkRollback("the simulated server", (owner) => simulateKube(owner).connect);
