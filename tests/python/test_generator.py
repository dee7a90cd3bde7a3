"""torch.Generator on the device: seeds, states, independence."""

import copy

import pytest
import torch
from support import same_error


def draw(generator: torch.Generator, n: int = 8) -> torch.Tensor:
    return torch.rand(n, generator=generator, device=generator.device).cpu()


def test_a_seed_repeats(device: torch.device) -> None:
    g = torch.Generator(device).manual_seed(5)
    a, b = draw(g), draw(g)
    assert not torch.equal(a, b)
    g.manual_seed(5)
    assert torch.equal(draw(g), a) and torch.equal(draw(g), b)
    assert g.initial_seed() == 5
    assert g.device.type == device.type
    assert not torch.equal(draw(torch.Generator(device).manual_seed(6)), a)


def test_large_and_negative_seeds(device: torch.device) -> None:
    for seed in (0, 2**63, 2**64 - 1, -1):
        g = torch.Generator(device).manual_seed(seed)
        first = draw(g)
        g.manual_seed(seed)
        assert torch.equal(draw(g), first)
    same_error(lambda w: torch.Generator(w).manual_seed(2**65), device)


def test_state_comes_back(device: torch.device) -> None:
    g = torch.Generator(device).manual_seed(5)
    draw(g)
    state = g.get_state()
    assert state.dtype == torch.uint8 and state.device.type == "cpu"
    a = draw(g)
    g.set_state(state)
    assert torch.equal(draw(g), a)
    other = torch.Generator(device)
    other.set_state(state)
    assert torch.equal(draw(other), a)


def test_a_wrong_state_is_refused(device: torch.device) -> None:
    for state in (torch.zeros(3, dtype=torch.uint8), torch.zeros(16)):
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            torch.Generator(device).set_state(state)


def test_seed_draws_from_the_system(device: torch.device) -> None:
    g = torch.Generator(device)
    assert g.seed() != g.seed()
    assert g.initial_seed() == g.initial_seed()


def test_generators_leave_each_other_alone(device: torch.device) -> None:
    torch.manual_seed(7)
    first = torch.rand(4, device=device).cpu()
    torch.manual_seed(7)
    draw(torch.Generator(device).manual_seed(1))
    assert torch.equal(torch.rand(4, device=device).cpu(), first)


@pytest.mark.own_device
def test_default_generators(device: torch.device) -> None:
    module = torch.get_device_module(device)
    assert len(module.default_generators) == module.device_count()
    assert module.default_generators[1].device == torch.device(device.type, 1)
    module.default_generators[0].manual_seed(11)
    a = torch.rand(4, device=device).cpu()
    assert torch.equal(draw(torch.Generator(device).manual_seed(11), 4), a)
    assert module._get_generator(torch.device(device.type, 0)).initial_seed() == 11


@pytest.mark.own_device
def test_a_generator_of_another_device_is_refused(device: torch.device) -> None:
    with pytest.raises(RuntimeError, match=r"(?i)expected.*(generator|device)"):
        torch.rand(2, device=device, generator=torch.Generator())
    with pytest.raises(RuntimeError, match=r"(?i)expected.*(generator|device)"):
        torch.rand(2, generator=torch.Generator(device))


def test_clone_of_the_state(device: torch.device) -> None:
    g = torch.Generator(device).manual_seed(3)
    draw(g)
    twin = g.clone_state()
    assert torch.equal(draw(g), draw(twin))


def test_offsets(device: torch.device) -> None:
    if device.type == "cpu":
        pytest.skip("CPU generators have no offset")
    g = torch.Generator(device).manual_seed(3)
    assert g.get_offset() == 0
    a = draw(g)
    middle = g.get_offset()
    b = draw(g)
    g.set_offset(middle)
    assert middle > 0 and torch.equal(draw(g), b)
    g.set_offset(0)
    assert torch.equal(draw(g), a)


@pytest.mark.own_device
def test_generators_that_share_a_state(device: torch.device) -> None:
    g = torch.Generator(device).manual_seed(3)
    expected = [draw(g) for _ in range(4)]
    g.manual_seed(3)
    shared = g.graphsafe_get_state()
    other = torch.Generator(device).manual_seed(8)
    kept = other.graphsafe_get_state()
    other.graphsafe_set_state(shared)
    assert torch.equal(draw(g), expected[0]) and torch.equal(draw(other), expected[1])
    assert torch.equal(draw(shared), expected[2]) and g.get_offset() == other.get_offset()
    apart = g.clone_state()
    assert torch.equal(draw(apart), expected[3]) and torch.equal(draw(g), expected[3])
    other.graphsafe_set_state(kept)
    assert torch.equal(draw(other), draw(torch.Generator(device).manual_seed(8)))
    with pytest.raises(RuntimeError, match="expected a state"):
        g.graphsafe_set_state(torch.Generator(f"{device.type}:1").graphsafe_get_state())


@pytest.mark.own_device
def test_a_generator_of_another_index_is_refused(device: torch.device) -> None:
    g = torch.Generator(f"{device.type}:1")
    with pytest.raises(RuntimeError, match=f"{device.type}:0.*{device.type}:1"):
        torch.rand(2, device=f"{device.type}:0", generator=g)
    assert torch.rand(2, device=f"{device.type}:1", generator=g).device.index == 1


@pytest.mark.own_device
def test_fork_rng_gives_the_state_back(device: torch.device) -> None:
    torch.manual_seed(1)
    expected = torch.rand(6, device=device).cpu()
    torch.manual_seed(1)
    got = [torch.rand(3, device=device).cpu()]
    for devices in ([0], [f"{device.type}:0"], [torch.device(device.type, 0)], range(2)):
        with torch.random.fork_rng(devices=devices, device_type=device.type):
            torch.manual_seed(9)
            torch.rand(5, device=device)
    got.append(torch.rand(3, device=device).cpu())
    torch.manual_seed(1)
    again = [torch.rand(3, device=device).cpu() for _ in range(2)]
    assert torch.equal(torch.cat(got), torch.cat(again))
    assert torch.equal(got[0], expected[:3])


@pytest.mark.own_device
def test_states_of_all_devices(device: torch.device) -> None:
    module = torch.get_device_module(device)
    torch.manual_seed(4)
    states = module.get_rng_state_all()
    first = [torch.rand(3, device=f"{device.type}:{i}").cpu() for i in range(len(states))]
    module.set_rng_state_all(states)
    again = [torch.rand(3, device=f"{device.type}:{i}").cpu() for i in range(len(states))]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    state = module.get_rng_state(device)
    module.manual_seed(77)
    assert module.initial_seed() == 77
    module.set_rng_state(state, device)
    assert torch.equal(module.get_rng_state(), state)


def test_operators_take_a_generator(device: torch.device) -> None:
    def numbers(seed: int) -> list[torch.Tensor]:
        g = torch.Generator(device).manual_seed(seed)
        x = torch.ones(64, device=device)
        return [
            t.cpu()
            for t in (
                torch.randn(64, device=device, generator=g),
                torch.randint(1000, (64,), device=device, generator=g),
                torch.randperm(64, device=device, generator=g),
                torch.bernoulli(x / 2, generator=g),
                torch.multinomial(x, 32, generator=g),
                torch.normal(0.0, x, generator=g),
                x.clone().uniform_(generator=g),
                x.clone().normal_(generator=g),
                x.clone().exponential_(generator=g),
            )
        ]

    first, again, other = numbers(1), numbers(1), numbers(2)
    for a, b, c in zip(first, again, other, strict=True):
        assert torch.equal(a, b) and not torch.equal(a, c)


def test_deepcopy_is_refused_or_a_copy(device: torch.device) -> None:
    g = torch.Generator(device).manual_seed(3)
    try:
        twin = copy.deepcopy(g)
    except TypeError:
        return  # as PyTorch's own generators
    assert torch.equal(draw(g), draw(twin))
