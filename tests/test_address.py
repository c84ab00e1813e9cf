"""Which addresses a model endpoint may have, whatever their form and whatever a name says."""

import socket
from ipaddress import IPv4Address, ip_address

import pytest

from qafd.errors import MissingKeyError, ParameterError, RefusedError, UnreachableError
from qafd.models import Message
from qafd.models.address import check_address, destinations, is_local, resolve
from qafd.models.endpoint import Endpoint

ASK = [Message("user", "color?")]
NAMES = {
    "169.254.169.254.nip.io": ["169.254.169.254"],
    "a9fea9fe.nip.io": ["169.254.169.254"],
    "rebound.example.com": ["fe80::1", "169.254.169.254"],
    "six.example.com": ["fd00:ec2::254"],
    "mapped.example.com": ["::ffff:169.254.169.254"],
    "nowhere.example.com": ["0.0.0.0"],
    "azure.example.com": ["168.63.129.16"],
    "many.local": ["224.0.0.251"],
    "api.example.com": ["93.184.216.34"],
    "public.internal": ["93.184.216.34"],
    "llm": ["93.184.216.34"],
    "mixed.example.com": ["10.0.0.5", "93.184.216.34"],
    "llm.corp.example.com": ["10.0.0.5"],
    "desk.local": ["fe80::1", "192.168.1.20"],
    "ollama": ["172.18.0.2"],
    "127.0.0.1.nip.io": ["127.0.0.1"],
}


def table(host):
    if host not in NAMES:
        raise OSError("Name or service not known")
    return tuple(map(ip_address, NAMES[host]))


@pytest.mark.parametrize("host", [
    "169.254.169.254", "0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "2852039166", "025177524776",
    "0251.0376.0251.0376", "169.254.43518", "169.16689662", "0xa9.254.0251.254",
    "169.254.169.254.", "169.254.170.2", "１６９.254.169.254",
    "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]",
    "[0:0:0:0:0:ffff:a9fe:a9fe]", "[::a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]",
    "[fe80::1]", "[febf::1]", "[fd00:ec2::254]", "[FD00:0EC2::0254]", "[fd20:ce::254]",
    "100.100.100.200", "0x646464c8", "168.63.129.16", "0.0.0.0", "0", "0x0", "0.0.0.1", "[::]",
    "192.88.99.1", "[64:ff9b:1::a00:1]", "[64:ff9b:1:a00:0:100::]", "[5f00::1]", "[fec0::1]",
    "[feff::1]", "[::ffff:0:169.254.169.254]", "[2002:c058:6301::]",
    "224.0.0.1", "255.255.255.255", "240.0.0.1", "[ff02::1]",
    "metadata.google.internal", "metadata.google.internal.", "Metadata.Google.Internal",
    "metadata", "instance-data", *(name for name in list(NAMES)[:8])])
@pytest.mark.parametrize("key", [None, "sk-1"], ids=["no key", "a key"])
def test_what_no_endpoint_has_is_refused_in_every_form(host, key):
    with pytest.raises(ParameterError, match="not a model endpoint"):
        check_address(f"http://{host}:80/v1", key, table)
    assert not is_local(f"http://{host}/v1", table)
    if host.isascii() and not host.lower().startswith(("meta", "instance")):
        with pytest.raises(ParameterError, match="not a model endpoint"):
            destinations(host.strip("[]").lower().rstrip("."), private=False, resolver=table)


@pytest.mark.parametrize("host", [
    "169.254.169.254@example.com", "user:pw@127.0.0.1", "%31%36%39.254.169.254", "[fe80::1%25eth0]",
    "169。254。169。254", "exa mple.com", "[::1", "", "127.0.0.1:port", "169.254.169.254\\@x.com"])
def test_what_parsers_read_in_two_ways_is_no_address(host):
    with pytest.raises(ParameterError):
        check_address(f"http://{host}/v1", None, table)


@pytest.mark.parametrize(("host", "local"), [
    ("127.0.0.1", True), ("127.1", True), ("2130706433", True), ("0x7f.1", True),
    ("017700000001", True), ("[::1]", True), ("[::ffff:127.0.0.1]", True),
    ("[::ffff:8.8.8.8]", False), ("[::ffff:0:10.1.2.3]", True), ("[::ffff:0:8.8.8.8]", False),
    ("10.1.2.3", True), ("192.168.1.5", True), ("172.16.0.1", True), ("172.32.0.1", False),
    ("[fd12:3456::1]", True), ("8.8.8.8", False), ("0x08080808", False), ("[2606:4700::1]", False),
    ("localhost", True), ("LOCALHOST.", True), ("llm.localhost", True),
    ("ollama", True), ("desk.local", True), ("llm.corp.example.com", True),
    ("127.0.0.1.nip.io", True), ("api.example.com", False), ("mixed.example.com", False),
    ("public.internal", False), ("llm", False), ("api.openai.com", False),
    ("unknown", True), ("unknown.local", True), ("unknown.example.com", False),
    ("local.example.com", False)])
def test_what_needs_no_key_is_decided_on_the_addresses_else_on_the_name(host, local):
    assert is_local(f"https://{host}/v1", table) is local
    if local:
        assert check_address(f"http://{host}/v1", None, table)
    else:
        with pytest.raises(MissingKeyError):
            check_address(f"https://{host}/v1", None, table)
        with pytest.raises(ParameterError, match="unencrypted"):
            check_address(f"http://{host}/v1", "sk-1", table)
        assert check_address(f"https://{host}/v1", "sk-1", table)


def test_a_connection_goes_only_to_the_addresses_that_may_be_called():
    assert destinations("desk.local", True, table) == ("192.168.1.20",)
    assert destinations("mixed.example.com", False, table) == ("10.0.0.5", "93.184.216.34")
    assert destinations("mixed.example.com", True, table) == ("10.0.0.5",)
    with pytest.raises(ParameterError, match=r"not in your network but at 93\.184\.216\.34"):
        destinations("public.internal", True, table)
    with pytest.raises(OSError, match="not known"):
        destinations("unknown", True, table)


def test_a_name_that_leads_to_this_machine_is_called_there_and_resolved_at_each_connection(server):
    asked = []

    def resolver(host):
        asked.append(host)
        return (IPv4Address("127.0.0.1"),)

    url = server.url.replace("127.0.0.1", "llm.example.com")
    model = Endpoint("tiny", url, resolver=resolver)
    before = len(asked)
    assert model.complete(ASK).text == "fine"
    assert asked[before:] == ["llm.example.com"]


@pytest.mark.parametrize("later", ["169.254.169.254", "93.184.216.34", "::ffff:169.254.169.254"])
def test_a_name_that_changes_its_address_before_the_call_is_not_called(later, server):
    now = ["127.0.0.1"]
    model = Endpoint("tiny", server.url.replace("127.0.0.1", "llm.example.com"),
                     resolver=lambda _: (ip_address(now[0]),))
    now[0] = later
    with pytest.raises(RefusedError, match="not a model endpoint|not in your network"):
        model.complete(ASK)
    assert server.bodies == []


def test_a_name_with_a_dead_and_a_live_address_is_reached(server):
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.2", 0))  # bound, but nobody listens
    model = Endpoint("tiny", server.url.replace("127.0.0.1", "llm.local"), resolver=lambda _: (
        IPv4Address("127.0.0.2"), IPv4Address("127.0.0.1")))
    assert model.complete(ASK).text == "fine"


def test_a_name_that_cannot_be_resolved_is_said_to_be_out_of_reach():
    for url, key in (("http://unknown:11434/v1", None), ("https://unknown.example.com/v1", "sk-1")):
        with pytest.raises(UnreachableError):
            Endpoint("m", url, key, resolver=table, attempts=1).complete(ASK)


def test_this_machine_resolves_its_own_names_and_no_others():
    assert all(address.is_loopback for address in resolve("localhost"))
    with pytest.raises(OSError, match=".+"):
        resolve("no-such-host.invalid")
    with pytest.raises(OSError, match=".+"):
        resolve("a" * 70 + ".com")
