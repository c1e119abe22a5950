"""Writes and reads an image in the layout of OCI (image-spec 1.0): an index with one image for each architecture. Each
image has one layer. Files of a layout are named by their SHA-256."""

import gzip
import hashlib
import json
import re
import subprocess

MEDIA = "application/vnd.oci.image."
NOT_IN_IMAGE = ["./dev/*", "./proc/*", "./sys/*", "./run/*", "./tmp/*", "./etc/resolv.conf", "./etc/hosts", "./etc/apt/apt.conf.d/90host",
                "./usr/sbin/policy-rc.d"]
SECONDS = {"s": 1, "m": 60}


def _put(layout, data, kind):
    """Returns the descriptor of the new file."""
    digest = hashlib.sha256(data).hexdigest()
    (layout / "blobs/sha256" / digest).write_bytes(data)
    return {"mediaType": MEDIA + kind, "digest": f"sha256:{digest}", "size": len(data)}


def _nanoseconds(text):
    number, unit = re.fullmatch(r"(\d+)([sm])", text).groups()
    return int(number) * SECONDS[unit] * 10**9


def _config(image, layer):
    options = image.health_options
    return {
        "architecture": image.architecture, "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "config": {
            "User": image.user, "Env": [f"{name}={value}" for name, value in image.environment.items()], "Entrypoint": image.entrypoint,
            "WorkingDir": image.directory, "Volumes": {image.volume: {}}, "ExposedPorts": {f"{image.port}/tcp": {}},
            "Healthcheck": {"Test": ["CMD-SHELL", image.healthcheck], "Retries": int(options["retries"]), "Interval": _nanoseconds(options["interval"]),
                            "Timeout": _nanoseconds(options["timeout"]), "StartPeriod": _nanoseconds(options["start-period"])}}}


def _manifest(layout, image):
    layer = subprocess.run(["tar", "--create", "--directory", image.root.path, "--sort=name", "--numeric-owner", "--xattrs", "--anchored",
                            *(f"--exclude={path}" for path in NOT_IN_IMAGE), "."], capture_output=True, check=True).stdout
    manifest = {"schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json",
                "config": _put(layout, json.dumps(_config(image, layer)).encode(), "config.v1+json"),
                "layers": [_put(layout, gzip.compress(layer, 6), "layer.v1.tar+gzip")]}
    platform = {"architecture": image.architecture, "os": "linux"}
    return {**_put(layout, json.dumps(manifest).encode(), "manifest.v1+json"), "platform": platform}


def write(layout, images, name):
    """Writes a new layout with one index, whose name is name. images: results of dockerfile.build."""
    (layout / "blobs/sha256").mkdir(parents=True)
    (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    index = {"schemaVersion": 2, "mediaType": MEDIA + "index.v1+json", "manifests": [_manifest(layout, image) for image in images]}
    entry = {**_put(layout, json.dumps(index).encode(), "index.v1+json"), "annotations": {"org.opencontainers.image.ref.name": name}}
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))


def layer(layout, architecture):
    """Returns the path of the layer for an architecture, and the compressed size of this image in millions of bytes."""
    def path(entry):
        return layout / "blobs" / entry["digest"].replace(":", "/")

    index, = json.loads((layout / "index.json").read_text())["manifests"]
    entry, = (one for one in json.loads(path(index).read_text())["manifests"] if one["platform"]["architecture"] == architecture)
    manifest = json.loads(path(entry).read_text())
    return path(manifest["layers"][0]), (manifest["config"]["size"] + manifest["layers"][0]["size"]) / 1e6
