import { createHttpKube } from "../src/kube/http/http-kube.ts";
import type { Kube } from "../src/kube/kube.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { startFakeApi } from "./fake-apiserver.ts";
import { temporaryFolder } from "./folder.ts";
import { checkKubeContract } from "./kube.contract.ts";

checkKubeContract({
  name: "the HTTP client",
  skip: false,
  async open(owner) {
    const api = await startFakeApi(owner);
    const kubeconfig = api.writeKubeconfig(temporaryFolder(owner));
    const connect = (fieldManager: string): Kube => {
      const deps = { clock: realClock, random: realRandom, log: silentLog };
      const kube = createHttpKube({ kubeconfig, fieldManager }, deps);
      owner.after(() => kube.close());
      return kube;
    };
    api.logs.set("lease/box", {
      lines: ["2026-01-01T00:00:00.1Z first", "2026-01-01T00:00:00.12Z second"],
      running: false,
    });
    const pod = { namespace: "lease", name: "box" };
    api.hidden.add("things");
    return { kube: connect("akash-provider"), connect, namespace: "lease", pod };
  },
});
