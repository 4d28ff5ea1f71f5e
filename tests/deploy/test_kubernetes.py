"""What Helm makes of the chart is valid, safe, and agrees with the server and its image."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import helm_python as helm
import kubernetes_validate
import pytest
import yaml

from service import __version__
from service.http.routes import operation
from service.observability.metrics import Metrics
from service.server import _SHUTDOWN_SECONDS
from service.settings import Settings

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "kubernetes"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
GPU: dict[str, Any] = yaml.safe_load((CHART / "values-gpu.yaml").read_text(encoding="utf-8"))
EVERYTHING: dict[str, Any] = {
    "autoscaling": {"enabled": True},
    "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
    "secretName": "keys",
    "cache": {"existingClaim": "models"},
    "networkPolicy": {"egress": [{"ports": [{"port": 4318, "protocol": "TCP"}]}]},
    "podAnnotations": {"team": "translation"},
    "imagePullSecrets": [{"name": "registry"}],
    "runtimeClassName": "nvidia",
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "settings": {
        "model": ["checkpoints/zh-en", "Helsinki-NLP/opus-mt-de-en"],
        "max_body_bytes": 1_048_576,
        "deadline_seconds": 2.5,
        "log_format": "json",
    },
}
ALONE: dict[str, Any] = {
    "database": {"existingClaim": "server"},
    "ingress": {"enabled": True, "className": "nginx", "host": "translate.example.org",
                "tlsSecretName": "tls", "annotations": {"a/b": "off"}},
    "extraVolumes": [{"name": "terms", "configMap": {"name": "terms"}}],
    "extraVolumeMounts": [{"name": "terms", "mountPath": "/terms", "readOnly": True}],
}  # fmt: skip
VARIANTS = {"defaults": {}, "gpu": GPU, "everything": EVERYTHING, "alone": ALONE}
OPERATOR_KINDS = {"ServiceMonitor", "PrometheusRule"}  # no part of Kubernetes' own schemas
KINDS = {"ConfigMap", "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"}
Manifests = dict[str, dict[str, Any]]


def render(values: dict[str, Any], name: str = "translate") -> Manifests:
    """The chart's manifests by kind."""
    with helm.Chart.load(str(CHART)) as chart:
        files = chart.render(values, name=name, namespace="production")
    texts = [text for path, text in files.items() if path.endswith(".yaml")]
    manifests = [manifest for text in texts for manifest in yaml.safe_load_all(text) if manifest]
    by_kind = {manifest["kind"]: manifest for manifest in manifests}
    assert len(by_kind) == len(manifests)
    return by_kind


@pytest.fixture(scope="module", params=VARIANTS)
def manifests(request: pytest.FixtureRequest) -> Manifests:
    return render(VARIANTS[request.param])


@pytest.fixture(scope="module")
def everything() -> Manifests:
    return render(EVERYTHING)


def pod_of(manifests: Manifests) -> dict[str, Any]:
    pod: dict[str, Any] = manifests["Deployment"]["spec"]["template"]
    return pod


def container_of(manifests: Manifests) -> dict[str, Any]:
    (container,) = pod_of(manifests)["spec"]["containers"]
    return dict(container)


def settings_of(manifests: Manifests, directory: Path) -> Settings:
    """As the server itself reads them."""
    path = directory / "config.toml"
    path.write_text(manifests["ConfigMap"]["data"]["config.toml"], encoding="utf-8")
    return Settings(config=path)


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_every_manifest_fits_the_schema_of_its_kind(manifests: Manifests, version: str) -> None:
    assert manifests.keys() >= KINDS
    for kind in manifests.keys() - OPERATOR_KINDS:
        kubernetes_validate.validate(manifests[kind], version, strict=True)


@pytest.mark.parametrize(("values", "tag"), [({}, __version__), (GPU, f"{__version__}-cuda")])
def test_the_image_of_the_chart_is_the_one_that_the_docs_build(
    values: dict[str, Any], tag: str
) -> None:
    image = container_of(render(values))["image"]
    assert image == f"dragoman:{tag}"
    docs = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
    assert re.search(rf"REGISTRY/{re.escape(image)}(?![-\w])", docs)
    assert f'image.version="{__version__}"' in DOCKERFILE


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"replica": 2}, "'replica' not allowed"),
        ({"cpus": 0}, "'/cpus': minimum"),
        ({"settings": {"port": 80}}, "'port'"),
        ({"settings": {"metrics_port": 9100}}, "'metrics_port'"),  # nobody would find them there
    ],
)
def test_wrong_values_are_refused_by_name(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(helm.HelmValuesError, match=re.escape(complaint)):
        render(wrong)


@pytest.mark.parametrize(("pre_stop", "drain"), [(5, 30), (20, 600)])
def test_a_pod_is_killed_only_after_it_could_drain(
    pre_stop: int, drain: int, tmp_path: Path
) -> None:
    manifests = render({"preStopSeconds": pre_stop, "drainSeconds": drain})
    slept = container_of(manifests)["lifecycle"]["preStop"]["sleep"]["seconds"]
    drained = settings_of(manifests, tmp_path).drain_seconds
    assert (slept, drained) == (pre_stop, drain)
    grace = pod_of(manifests)["spec"]["terminationGracePeriodSeconds"]
    assert grace > slept + drained + _SHUTDOWN_SECONDS


def test_a_database_takes_one_pod_and_lies_on_its_volume(tmp_path: Path) -> None:
    manifests = render(ALONE)
    assert manifests["Deployment"]["spec"]["strategy"]["rollingUpdate"] == {
        "maxSurge": 0,
        "maxUnavailable": 1,
    }
    database = settings_of(manifests, tmp_path).database
    mounts = {
        mount["name"]: mount["mountPath"] for mount in container_of(manifests)["volumeMounts"]
    }
    assert database is not None
    assert str(database.parent) == mounts["database"]
    volumes = {volume["name"] for volume in pod_of(manifests)["spec"]["volumes"]}
    assert mounts.keys() == volumes
    for several in ({"replicas": 2}, {"autoscaling": {"enabled": True}}):
        with pytest.raises(helm.HelmError, match="takes one pod"):
            render({**ALONE, **several})


def test_an_ingress_leads_to_the_service() -> None:
    manifests = render(ALONE)
    (rule,) = manifests["Ingress"]["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    service = path["backend"]["service"]
    assert (rule["host"], service["name"]) == ("translate.example.org", "translate")
    assert service["port"]["name"] in [p["name"] for p in manifests["Service"]["spec"]["ports"]]
    assert "host" not in render({"ingress": {"enabled": True}})["Ingress"]["spec"]["rules"][0]


def test_the_probes_ask_the_routes_that_are_made_for_them(manifests: Manifests) -> None:
    paths = {route.name: route.path for route in operation.make_health_router().routes}
    container = container_of(manifests)
    for probe, route in (("startup", "ready"), ("readiness", "ready"), ("liveness", "live")):
        assert container[f"{probe}Probe"]["httpGet"] == {"path": paths[route], "port": "http"}


def test_everything_speaks_to_the_port_of_the_image(everything: Manifests) -> None:
    (port,) = container_of(everything)["ports"]
    assert f"EXPOSE {port['containerPort']}" in DOCKERFILE
    assert f"DRAGOMAN_PORT={port['containerPort']}" in DOCKERFILE
    (service,) = everything["Service"]["spec"]["ports"]
    assert service["targetPort"] == port["name"]
    (endpoint,) = everything["ServiceMonitor"]["spec"]["endpoints"]
    assert endpoint["port"] == service["name"]
    described = operation.make_metrics_router(is_described=True)
    assert endpoint["path"] in [route.path for route in described.routes]
    assert everything["NetworkPolicy"]["spec"]["ingress"][0]["ports"] == [{"port": port["name"]}]


def test_the_server_reads_its_settings_as_they_were_given(
    everything: Manifests, tmp_path: Path
) -> None:
    settings = settings_of(everything, tmp_path).model_dump(mode="json")
    wanted = EVERYTHING["settings"] | {"threads": 2, "drain_seconds": 30}
    assert {name: settings[name] for name in wanted} == wanted


def test_a_pod_meets_the_restricted_security_standard(
    manifests: Manifests,
) -> None:
    pod, own = pod_of(manifests)["spec"], container_of(manifests)["securityContext"]
    common = pod["securityContext"]
    assert f"USER {common['runAsUser']}:{common['runAsGroup']}" in DOCKERFILE
    assert common["runAsUser"] > 0
    assert common["runAsNonRoot"] is True
    assert common["seccompProfile"] == {"type": "RuntimeDefault"}
    assert own["allowPrivilegeEscalation"] is False
    assert own["capabilities"] == {"drop": ["ALL"]}
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert own["readOnlyRootFilesystem"] is True
    mounts = container_of(manifests)["volumeMounts"]
    writable = [m["mountPath"] for m in mounts if not m.get("readOnly")]
    with_database = "server.sqlite" in manifests["ConfigMap"]["data"]["config.toml"]
    assert writable == [
        "/tmp",
        "/cache",
        "/documents",
        *(["/var/lib/dragoman"] if with_database else []),
    ]
    assert "XDG_CACHE_HOME=/cache" in DOCKERFILE


def test_the_autoscaler_asks_for_what_the_adapter_makes_of_metrics_that_exist(
    everything: Manifests,
) -> None:
    (rule,) = yaml.safe_load((CHART / "prometheus-adapter.yaml").read_text("utf-8"))["rules"][
        "custom"
    ]
    selector = re.search(r'__name__=~"([^"]+)"', rule["seriesQuery"])
    assert selector
    exported = {family.name for family in Metrics().registry.collect()}
    found = {name for name in exported if re.fullmatch(selector[1], name)}
    asked = [
        m["pods"]["metric"]["name"]
        for m in everything["HorizontalPodAutoscaler"]["spec"]["metrics"]
    ]
    assert sorted(asked) == sorted(found) == ["dragoman_running", "dragoman_waiting"]


def test_the_operators_rules_are_those_of_prometheus_and_know_the_job(
    everything: Manifests,
) -> None:
    files = [ROOT / "deploy" / "prometheus" / name for name in ("rules.yml", "alerts.yml")]
    groups = [g for f in files for g in yaml.safe_load(f.read_text("utf-8"))["groups"]]
    assert everything["PrometheusRule"]["spec"]["groups"] == groups
    label = everything["ServiceMonitor"]["spec"]["jobLabel"]
    job = everything["Service"]["metadata"]["labels"][label]
    assert set(re.findall(r'job="(\w+)"', json.dumps(groups).replace('\\"', '"'))) == {job}
    assert everything["ServiceMonitor"]["metadata"]["labels"]["release"] == "prometheus"
