"""The manifests are what Kubernetes takes, by its own schemas, and fit to each other and to the server."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import settings
from support.http import request
from support.server import Server

MANIFESTS = settings.ROOT / "deploy" / "kubernetes"
# The oldest and the newest release of which the package has schemas that people still run.
RELEASES = ["1.28", "1.37"]
VALIDATE = """
import json, sys, yaml
import kubernetes_validate
path, releases = json.loads(sys.argv[1])
documents = list(yaml.safe_load_all(open(path)))
for document in documents:
    for release in releases:
        kubernetes_validate.validate(document, release, strict=True)
print(json.dumps(documents))
"""


def read(path: Path) -> list[dict[str, Any]]:
    asked = json.dumps([str(path), RELEASES])
    python = settings.DEPLOY_BIN / "python"
    done = subprocess.run([python, "-c", VALIDATE, asked], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)


def test_every_manifest_is_valid() -> None:
    kinds = {it.name: [document["kind"] for document in read(it)] for it in MANIFESTS.iterdir()}
    assert kinds == {
        "threadkeep.yaml": ["Deployment", "Service", "PodDisruptionBudget"],
        "secret.example.yaml": ["Secret"],
    }


def test_a_field_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    text = (MANIFESTS / "threadkeep.yaml").read_text()
    wrong.write_text(text.replace("readinessProbe", "readynessProbe"))
    with pytest.raises(ValueError, match="readynessProbe"):
        read(wrong)


def test_all_parts_name_the_same_servers() -> None:
    deployment, service, budget = read(MANIFESTS / "threadkeep.yaml")
    (secret,) = read(MANIFESTS / "secret.example.yaml")
    pods = deployment["spec"]["template"]
    labels = pods["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert service["spec"]["selector"] == budget["spec"]["selector"]["matchLabels"] == labels
    (container,) = pods["spec"]["containers"]
    ports = {it["name"]: it["containerPort"] for it in container["ports"]}
    (served,) = service["spec"]["ports"]
    assert served["targetPort"] in ports
    given = {it["name"]: it["value"] for it in container["env"]}
    assert given["THREADKEEP_LISTEN"].endswith(f":{ports['http']}")
    assert given["THREADKEEP_METRICS_LISTEN"].endswith(f":{ports['metrics']}")
    mounts = {it["name"]: it["mountPath"] for it in container["volumeMounts"]}
    assert mounts.keys() == {it["name"] for it in pods["spec"]["volumes"]}
    file = Path(given["THREADKEEP_DATABASE_URL_FILE"])
    assert str(file.parent) == mounts["secrets"] and file.name in secret["stringData"]


def test_a_server_has_the_time_that_it_takes_to_stop() -> None:
    deployment, *_ = read(MANIFESTS / "threadkeep.yaml")
    pod = deployment["spec"]["template"]["spec"]
    given = {it["name"]: it["value"] for it in pod["containers"][0]["env"]}
    takes = int(given["THREADKEEP_DRAIN_SECONDS"]) + int(given["THREADKEEP_STOP_SECONDS"])
    assert pod["terminationGracePeriodSeconds"] > takes


def test_the_probes_ask_for_what_the_server_answers(own_server: Server) -> None:
    deployment, *_ = read(MANIFESTS / "threadkeep.yaml")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    probes = {name: it["httpGet"]["path"] for name, it in container.items() if "Probe" in name}
    assert len(probes) == 3
    for path in probes.values():
        assert request(own_server.url, "GET", path).status == 200, path
