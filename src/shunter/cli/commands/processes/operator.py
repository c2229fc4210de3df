"""The commands about the Kubernetes operator: operator manifests, install, run. `shunter.app.kubernetes` does the work;
it is imported inside the functions."""

from __future__ import annotations

from typing import Annotated

import typer

from shunter.cli.options import duration_s
from shunter.cli.registry import plain_typer
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem

operator = plain_typer(
    no_args_is_help=True,
    help="Run Testbeds, BatchJobs and Schedulings on Kubernetes.\n\n\b\n"
    "shunter operator install\n"
    "shunter operator run --image team/jobs:1 --ghost-image pause:3.10",
)
Kubeconfig = Annotated[
    str | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="How to reach Kubernetes. Default: KUBECONFIG, the account of this pod, or ~/.kube/config.",
    ),
]
Context = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig. Default: its current one.")
]


@operator.command("manifests")
def manifests() -> None:
    """Print everything that `install` applies, as YAML: custom resources, priority classes and permissions.

    \b
    shunter operator manifests > shunter.yaml
    """
    from shunter.app.kubernetes.operator import manifests_yaml

    print(manifests_yaml(), end="")


@operator.command("install")
def install(kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Install the custom resources, priority classes and permissions, or upgrade them to this version.

    Repeating it changes nothing. It needs the rights of a cluster administrator.

    \b
    shunter operator install
    """
    from shunter.app.kubernetes.operator import install_operator

    install_operator(kubeconfig, context, print_text)


@operator.command("run")
def run(
    image: Annotated[
        str, typer.Option("--image", metavar="IMAGE", help="Image of the executors of BatchJobs with commandSpec.")
    ],
    ghost_image: Annotated[
        str,
        typer.Option("--ghost-image", metavar="IMAGE", help="Image of the pods that hold slots: any that only sleeps."),
    ],
    lease: Annotated[
        str,
        typer.Option("--lease", metavar="DURATION", help="How long a silent operator stays the leader."),
    ] = "15s",
    application: Annotated[
        list[str] | None,
        typer.Option(
            "--application",
            metavar="KIND",
            help="Run sparkSpec or flinkSpec by the operator of this kind, which must be there: SparkApplication,"
            " FlinkDeployment or FlinkCluster. May be repeated.",
        ),
    ] = None,
    extender_listen: Annotated[
        str | None,
        typer.Option(
            "--extender-listen",
            metavar="HOST:PORT",
            help="Let kube-scheduler place executors by the profile shunter-extender, and answer it here. Default:"
            " the operator binds them.",
        ),
    ] = None,
    extender_cert: Annotated[
        str | None, typer.Option("--extender-cert", metavar="FILE", help="Certificate of the extender. Default: HTTP.")
    ] = None,
    extender_key: Annotated[
        str | None, typer.Option("--extender-key", metavar="FILE", help="Private key of that certificate.")
    ] = None,
    extender_client_ca: Annotated[
        str | None,
        typer.Option(
            "--extender-client-ca", metavar="FILE", help="Answer only clients with certificates of this authority."
        ),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Run the operator until it is interrupted.

    Several operators may run at once: one of them leads, and another one takes over when it ends.

    \b
    shunter operator run --image team/jobs:1 --ghost-image pause:3.10
    """
    from shunter.app.kubernetes.operator import ExtenderOptions, run_operator

    extender = None
    tls = (extender_cert, extender_key, extender_client_ca)
    if extender_listen is not None:
        extender = ExtenderOptions(extender_listen, *tls)
    elif any(tls):
        fix = "add it, or remove the options about TLS"
        raise Invalid([Problem("--extender-listen", "is needed for TLS of the extender", None, fix)])
    lease_s = duration_s(lease, "--lease") or 15.0
    raise typer.Exit(run_operator(kubeconfig, context, image, ghost_image, lease_s, extender, application or ()))
