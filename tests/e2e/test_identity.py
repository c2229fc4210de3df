"""Users, API keys and the admin token on a real cluster, as an administrator and a user use them."""

from __future__ import annotations

from tests.e2e.cluster import Cluster, eventually


def as_key(cluster: Cluster, key: str) -> Cluster:
    """The same cluster, used with a key instead of the admin token."""
    user = Cluster(cluster.home)
    user.environment |= {"SHUNTER_TOKEN": key}
    return user


def test_a_key_does_what_its_role_allows_until_it_is_revoked(cluster: Cluster) -> None:
    """D-06, D-07, D-55: 401 without a valid key, 403 without the role."""
    cluster.shunter("user", "create", "anna", "--role", "submitter")
    made = cluster.shunter("key", "create", "--user", "anna", "--role", "submitter", "--note", "build")
    key = made.out.strip()
    assert key.startswith("shk_")
    assert key not in made.err
    anna = as_key(cluster, key)
    me = anna.json("whoami")
    assert (me["user"], me["roles"], me["key"], me["expires_at"]) == ("anna", ["submitter"], key.split("_")[1], None)
    assert (me["tenant"], me["namespace"], me["namespaces"]) == (None, "default", None)
    assert anna.shunter("run", "--name", "hers", "--", "echo", "hello").out == "hello\n"
    assert cluster.json("job", "hers")["user"] == "anna"
    refused = anna.shunter("queue", "pause", "default", code=2)
    assert "this needs the role operator or admin; you have submitter" in refused.err
    assert "this needs the role admin" in anna.shunter("key", "list", code=2).err
    followed = anna.begin("events", "--follow")
    [listed] = cluster.items("key", "list")
    assert (listed["user"], listed["note"]) == ("anna", "build")
    assert key.split("_", 2)[2] not in cluster.shunter("key", "list", "-o", "json").out
    cluster.shunter("key", "revoke", listed["id"])
    assert "refused the token" in anna.shunter("jobs", code=2).err
    assert followed.wait(30) != 0  # its stream ended, and it may not open another
    assert cluster.items("key", "list") == []


def test_a_disabled_user_is_refused_with_all_keys(cluster: Cluster) -> None:
    cluster.shunter("user", "create", "ben", "--role", "viewer")
    ben = as_key(cluster, cluster.shunter("key", "create", "--user", "ben", "--role", "viewer").out.strip())
    ben.shunter("jobs")
    cluster.shunter("user", "disable", "ben")
    ben.shunter("jobs", code=2)
    cluster.shunter("user", "enable", "ben")
    ben.shunter("jobs")


def test_a_key_is_rotated_without_a_failed_request(cluster: Cluster) -> None:
    """Both secrets work during the overlap."""
    key = cluster.shunter("key", "create", "--role", "viewer").out.strip()
    new = cluster.shunter("key", "rotate", key.split("_")[1], "--overlap", "1h").out.strip()
    for each in (key, new):
        as_key(cluster, each).shunter("jobs")
    newest = cluster.shunter("key", "rotate", key.split("_")[1], "--overlap", "0s").out.strip()
    for each in (key, new):
        as_key(cluster, each).shunter("jobs", code=2)
    as_key(cluster, newest).shunter("jobs")


def test_keys_survive_a_restart_and_appear_in_no_log(cluster: Cluster) -> None:
    key = cluster.shunter("key", "create", "--role", "viewer").out.strip()
    cluster.down()
    cluster.up("--cpu", "2")
    as_key(cluster, key).shunter("jobs")
    assert key.split("_", 2)[2] not in cluster.log()


def test_the_admin_token_is_reset_on_the_machine_of_the_manager(cluster: Cluster) -> None:
    """Also if the file was lost."""
    old = (cluster.home / "token").read_text().strip()
    (cluster.home / "token").unlink()
    cluster.environment["SHUNTER_URL"] = "http://127.0.0.1:1"
    elsewhere = cluster.shunter("token", "reset")
    del cluster.environment["SHUNTER_URL"]
    assert "names the cluster at http://127.0.0.1:1, but this changes the cluster in" in elsewhere.err
    assert (cluster.home / "token").stat().st_mode & 0o777 == 0o600
    cluster.shunter("jobs")
    eventually(lambda: as_key(cluster, old).shunter("jobs", code=None).code == 2, "the old token is refused")
    assert [event["type"] for event in cluster.items("events")].count("cluster.token_reset") == 1


def test_the_keys_of_two_tenants_see_nothing_of_each_other(cluster: Cluster) -> None:
    """D-51: the key works as SHUNTER_TOKEN, and the command line then uses the namespace of the tenant."""
    tenants = {}
    for name in ("red", "blue"):
        cluster.shunter("tenant", "create", name)
        tenants[name] = as_key(
            cluster, cluster.shunter("key", "create", "--tenant", name, "--role", "submitter").out.strip()
        )
    assert tenants["red"].shunter("run", "--name", "same", "--", "echo", "red").out == "red\n"
    assert tenants["blue"].shunter("run", "--name", "same", "--", "echo", "blue").out == "blue\n"
    [job] = tenants["red"].items("jobs", "-n", "*")
    assert (job["name"], job["namespace"]) == ("same", "red")
    assert tenants["blue"].shunter("logs", "same").out == "blue\n"
    refused = tenants["red"].shunter("logs", "same", "-n", "blue", code=2).err
    unknown = tenants["red"].shunter("logs", "same", "-n", "ghost", code=2).err
    assert refused == unknown.replace("ghost", "blue")
    assert "red" in tenants["red"].shunter("whoami").out
    assert "still has" in cluster.shunter("tenant", "delete", "red", code=2).err
