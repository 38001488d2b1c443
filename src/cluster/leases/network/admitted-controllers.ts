/** Which ingress controllers the settings admit to workloads. */
import type { AdmittedController } from "../../../kube/objects/network-policies.ts";

/** As an operator names one: what it is called, or where its requests come from. */
type NamedController = { readonly name: string } | { readonly range: string };

export function admittedControllers(
  controllers: readonly NamedController[],
  gatewayNamespace?: string,
): AdmittedController[] {
  // Charts label their pods with the name; who installs by hand has a namespace of that name.
  const admitted = controllers.flatMap((each): AdmittedController[] =>
    "name" in each ? [{ pods: each.name }, { namespace: each.name }] : [each],
  );
  return gatewayNamespace === undefined ? admitted : [...admitted, { namespace: gatewayNamespace }];
}
