/** The kinds of the named groups, as Kubernetes v1.34 has them. Read with notation.ts. */
export const groupTypes = `
Deployment apiVersion?:s kind?:s metadata=:ObjectMeta spec=:DeploymentSpec status=:DeploymentStatus
DeploymentSpec minReadySeconds?:i paused?:b progressDeadlineSeconds:i replicas:i revisionHistoryLimit:i
  selector:LabelSelector strategy=:DeploymentStrategy template=:PodTemplateSpec
DeploymentStrategy rollingUpdate:RollingUpdateDeployment type?:s
RollingUpdateDeployment maxSurge:x maxUnavailable:x
PodTemplateSpec metadata=:ObjectMeta spec=:PodSpec
DeploymentStatus availableReplicas?:i collisionCount:i conditions?:[type]DeploymentCondition observedGeneration?:i
  readyReplicas?:i replicas?:i terminatingReplicas:i unavailableReplicas?:i updatedReplicas?:i
DeploymentCondition lastTransitionTime=:t lastUpdateTime=:t message?:s reason?:s status=:s type=:s
StatefulSet apiVersion?:s kind?:s metadata=:ObjectMeta spec=:StatefulSetSpec status=:StatefulSetStatus
StatefulSetSpec minReadySeconds?:i ordinals:StatefulSetOrdinals
  persistentVolumeClaimRetentionPolicy:StatefulSetPersistentVolumeClaimRetentionPolicy podManagementPolicy?:s
  replicas:i revisionHistoryLimit:i selector:LabelSelector serviceName=:s template=:PodTemplateSpec
  updateStrategy=:StatefulSetUpdateStrategy volumeClaimTemplates?:[]PersistentVolumeClaim
StatefulSetOrdinals start=:i
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted?:s whenScaled?:s
StatefulSetUpdateStrategy rollingUpdate:RollingUpdateStatefulSetStrategy type?:s
RollingUpdateStatefulSetStrategy maxUnavailable:x partition:i
StatefulSetStatus availableReplicas=:i collisionCount:i conditions?:[type]StatefulSetCondition currentReplicas?:i
  currentRevision?:s observedGeneration?:i readyReplicas?:i replicas=:i updateRevision?:s updatedReplicas?:i
StatefulSetCondition lastTransitionTime=:t message?:s reason?:s status=:s type=:s
ReplicaSet apiVersion?:s kind?:s metadata=:ObjectMeta spec=:ReplicaSetSpec status=:ReplicaSetStatus
ReplicaSetSpec minReadySeconds?:i replicas:i selector:LabelSelector template=:PodTemplateSpec
ReplicaSetStatus availableReplicas?:i conditions?:[type]ReplicaSetCondition fullyLabeledReplicas?:i
  observedGeneration?:i readyReplicas?:i replicas=:i terminatingReplicas:i
ReplicaSetCondition lastTransitionTime=:t message?:s reason?:s status=:s type=:s
DaemonSet apiVersion?:s kind?:s metadata=:ObjectMeta spec=:DaemonSetSpec status=:DaemonSetStatus
DaemonSetSpec minReadySeconds?:i revisionHistoryLimit:i selector:LabelSelector template=:PodTemplateSpec
  updateStrategy=:DaemonSetUpdateStrategy
DaemonSetUpdateStrategy rollingUpdate:RollingUpdateDaemonSet type?:s
RollingUpdateDaemonSet maxSurge:x maxUnavailable:x
DaemonSetStatus collisionCount:i conditions?:[type]DaemonSetCondition currentNumberScheduled=:i
  desiredNumberScheduled=:i numberAvailable?:i numberMisscheduled=:i numberReady=:i numberUnavailable?:i
  observedGeneration?:i updatedNumberScheduled?:i
DaemonSetCondition lastTransitionTime=:t message?:s reason?:s status=:s type=:s
Ingress apiVersion?:s kind?:s metadata=:ObjectMeta spec=:IngressSpec status=:IngressStatus
IngressSpec defaultBackend:IngressBackend ingressClassName:s rules?:[]IngressRule tls?:[]IngressTLS
IngressBackend resource:TypedLocalObjectReference service:IngressServiceBackend
IngressServiceBackend name=:s port=:ServiceBackendPort
!ServiceBackendPort name?:s number?:i
IngressRule host?:s http:HTTPIngressRuleValue
HTTPIngressRuleValue paths=:[]HTTPIngressPath
HTTPIngressPath backend=:IngressBackend path?:s pathType:s
IngressTLS hosts?:[]s secretName?:s
IngressStatus loadBalancer=:IngressLoadBalancerStatus
IngressLoadBalancerStatus ingress?:[]IngressLoadBalancerIngress
IngressLoadBalancerIngress hostname?:s ip?:s ports?:[]IngressPortStatus
IngressPortStatus error:s port=:i protocol=:s
IngressClass apiVersion?:s kind?:s metadata=:ObjectMeta spec=:IngressClassSpec
IngressClassSpec controller?:s parameters:IngressClassParametersReference
IngressClassParametersReference apiGroup:s kind=:s name=:s namespace:s scope:s
NetworkPolicy apiVersion?:s kind?:s metadata=:ObjectMeta spec=:NetworkPolicySpec
NetworkPolicySpec egress?:[]NetworkPolicyEgressRule ingress?:[]NetworkPolicyIngressRule podSelector=:LabelSelector
  policyTypes?:[]s
NetworkPolicyEgressRule ports?:[]NetworkPolicyPort to?:[]NetworkPolicyPeer
NetworkPolicyPort endPort:i port:x protocol:s
NetworkPolicyPeer ipBlock:IPBlock namespaceSelector:LabelSelector podSelector:LabelSelector
IPBlock cidr=:s except?:[]s
NetworkPolicyIngressRule from?:[]NetworkPolicyPeer ports?:[]NetworkPolicyPort
EndpointSlice addressType=:s apiVersion?:s endpoints=:[]Endpoint kind?:s metadata=:ObjectMeta
  ports=:[]DiscoveryEndpointPort
Endpoint addresses=:[*]s conditions=:EndpointConditions deprecatedTopology?:{}s hints:EndpointHints hostname:s
  nodeName:s targetRef:ObjectReference zone:s
EndpointConditions ready:b serving:b terminating:b
EndpointHints forNodes?:[]ForNode forZones?:[]ForZone
ForNode name=:s
ForZone name=:s
!DiscoveryEndpointPort appProtocol:s name:s port:i protocol:s
StorageClass allowVolumeExpansion:b allowedTopologies?:[]TopologySelectorTerm apiVersion?:s kind?:s
  metadata=:ObjectMeta mountOptions?:[]s parameters?:{}s provisioner=:s reclaimPolicy:s volumeBindingMode:s
!TopologySelectorTerm matchLabelExpressions?:[]TopologySelectorLabelRequirement
TopologySelectorLabelRequirement key=:s values=:[]s
CSINode apiVersion?:s kind?:s metadata=:ObjectMeta spec=:CSINodeSpec
CSINodeSpec drivers=:[name]CSINodeDriver
CSINodeDriver allocatable:VolumeNodeResources name=:s nodeID=:s topologyKeys=:[]s
VolumeNodeResources count:i
RuntimeClass apiVersion?:s handler=:s kind?:s metadata=:ObjectMeta overhead:Overhead scheduling:Scheduling
Overhead podFixed?:{}q
Scheduling nodeSelector?:!{}s tolerations?:[]Toleration
Lease apiVersion?:s kind?:s metadata=:ObjectMeta spec=:LeaseSpec
LeaseSpec acquireTime:u holderIdentity:s leaseDurationSeconds:i leaseTransitions:i preferredHolder:s renewTime:u
  strategy:s
Role apiVersion?:s kind?:s metadata=:ObjectMeta rules=:[]PolicyRule
PolicyRule apiGroups?:[]s nonResourceURLs?:[]s resourceNames?:[]s resources?:[]s verbs=:[]s
RoleBinding apiVersion?:s kind?:s metadata=:ObjectMeta roleRef=:RoleRef subjects?:[]Subject
!RoleRef apiGroup=:s kind=:s name=:s
!Subject apiGroup?:s kind=:s name=:s namespace?:s
Event action?:s apiVersion?:s deprecatedCount?:i deprecatedFirstTimestamp=:t deprecatedLastTimestamp=:t
  deprecatedSource=:EventSource eventTime=:u kind?:s metadata=:ObjectMeta note?:s reason?:s regarding=:ObjectReference
  related:ObjectReference reportingController?:s reportingInstance?:s series:EventSeries type?:s
EventSource component?:s host?:s
EventSeries count=:i lastObservedTime=:u
CustomResourceDefinition apiVersion?:s kind?:s metadata=:ObjectMeta spec=:CustomResourceDefinitionSpec
  status=:CustomResourceDefinitionStatus
CustomResourceDefinitionSpec conversion:any group=:s names=:CustomResourceDefinitionNames preserveUnknownFields?:b
  scope=:s versions=:[]CustomResourceDefinitionVersion
CustomResourceDefinitionNames categories?:[]s kind=:s listKind?:s plural=:s shortNames?:[]s singular?:s
CustomResourceDefinitionVersion additionalPrinterColumns?:[]CustomResourceColumnDefinition deprecated?:b
  deprecationWarning:s name=:s schema:any selectableFields?:[]SelectableField served=:b storage=:b
  subresources:CustomResourceSubresources
CustomResourceColumnDefinition description?:s format?:s jsonPath=:s name=:s priority?:i type=:s
SelectableField jsonPath=:s
CustomResourceSubresources scale:CustomResourceSubresourceScale status:any
CustomResourceSubresourceScale labelSelectorPath:s specReplicasPath=:s statusReplicasPath=:s
CustomResourceDefinitionStatus acceptedNames=:CustomResourceDefinitionNames
  conditions=:[type]CustomResourceDefinitionCondition storedVersions=:[]s
CustomResourceDefinitionCondition lastTransitionTime=:t message?:s reason?:s status=:s type=:s
`;
