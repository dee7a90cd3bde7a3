"""`module.to(device)`: tied weights stay tied, optimizers stay attached, hooks stay in place."""

import gc
import weakref

import pytest
import torch
from support import CPU, arange, assert_same, output_of


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(5, 3)
        self.head = torch.nn.Linear(3, 5, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.embedding(ids))


def test_tied_weights_stay_tied(device: torch.device) -> None:
    model = Tied().to(device)
    assert model.head.weight is model.embedding.weight
    assert len(list(model.parameters())) == 1
    assert model.head.weight.device.type == device.type
    model.to("cpu")
    assert model.head.weight is model.embedding.weight
    assert model.head.weight.device == CPU


@pytest.mark.own_device
@pytest.mark.parametrize("move", ['m.to("pjrt")', "m.pjrt()", 'm.to(torch.device("pjrt", 1))'])
def test_tied_weights_stay_tied_when_it_is_the_first_use(move: str) -> None:
    code = f"""
        import torch
        m = torch.nn.ModuleList([torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5, bias=False)])
        m[1].weight = m[0].weight
        before = m[0].weight
        optimizer = torch.optim.SGD(m.parameters(), 0.1)
        {move}
        assert m[0].weight is m[1].weight is before, "the first move broke the tie"
        assert optimizer.param_groups[0]["params"][0] is before
        print(m[1].weight.device.type)
    """
    assert output_of(code) == "pjrt"


@pytest.mark.own_device
def test_programs_that_never_use_the_device_keep_the_default() -> None:
    code = """
        import torch, torch_pjrt
        m = torch.nn.Linear(2, 2)
        w = m.weight
        alive = __import__("weakref").ref(w)  # would make a swap fail
        m.double()
        m.to("cpu", torch.float16)
        assert m.weight is w and w.dtype == torch.float16
        assert not torch.__future__.get_swap_module_params_on_conversion()
        torch_pjrt.plugin_info()
        assert torch.__future__.get_swap_module_params_on_conversion() is True
    """
    output_of(code)


@pytest.mark.own_device
def test_an_explicit_choice_of_the_user_wins() -> None:
    code = """
        import torch
        torch.__future__.set_swap_module_params_on_conversion(False)
        torch.nn.Linear(2, 2).to("pjrt")
        print(torch.__future__.get_swap_module_params_on_conversion())
    """
    assert output_of(code) == "False"


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_an_optimizer_made_before_the_move_drives_the_model(
    optimizer: str, device: torch.device
) -> None:
    def train(where: torch.device) -> list[torch.Tensor]:
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        driver = getattr(torch.optim, optimizer)(model.parameters(), lr=0.05)
        model.to(where)
        for _ in range(4):
            driver.zero_grad()
            model(arange(where, 2, 4) / 4).square().sum().backward()
            driver.step()
        return list(model.parameters())

    assert_same(train(device), train(CPU), device, rtol=1e-4, atol=1e-5)


def test_gradients_move_along(device: torch.device) -> None:
    model = torch.nn.Linear(3, 2)
    model(torch.ones(1, 3)).sum().backward()
    before = model.weight.grad.clone()
    model.to(device)
    assert model.weight.grad.device.type == device.type
    assert torch.equal(model.weight.grad.cpu(), before)


def test_buffers_dtypes_and_frozen_parameters(device: torch.device) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
    model[0].bias.requires_grad_(False)
    model.to(device, torch.bfloat16)
    assert not model[0].bias.requires_grad and model[0].weight.requires_grad
    assert model[0].weight.dtype == torch.bfloat16
    assert model[1].running_mean.dtype == torch.bfloat16
    assert model[1].num_batches_tracked.dtype == torch.int64
    assert {t.device.type for t in [*model.parameters(), *model.buffers()]} == {device.type}
    model.float()
    assert model[0].weight.dtype == torch.float32


def test_state_dict_loads_both_ways(device: torch.device) -> None:
    source, target = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2).to(device)
    kept = target.weight
    target.load_state_dict(source.state_dict())
    assert target.weight is kept and target.weight.device.type == device.type
    assert torch.equal(target.weight.cpu(), source.weight)
    other = torch.nn.Linear(3, 2)
    other.load_state_dict(target.state_dict())
    assert other.weight.device == CPU and torch.equal(other.weight, source.weight)
    assigned = torch.nn.Linear(3, 2)
    assigned.load_state_dict(target.state_dict(), assign=True)
    assert assigned.weight.device.type == device.type


def test_to_empty_from_meta(device: torch.device) -> None:
    with torch.device("meta"):
        model = torch.nn.Linear(3, 2)
    model.to_empty(device=device)
    torch.nn.init.ones_(model.weight)
    assert model.weight.device.type == device.type
    assert model.weight.sum().item() == 6


def test_made_on_the_device(device: torch.device) -> None:
    with device:
        model = torch.nn.Linear(3, 2)
    assert model.weight.device.type == device.type
    assert torch.nn.Linear(3, 2, device=device).bias.device.type == device.type


@pytest.mark.own_device
def test_a_parameter_with_a_weak_reference_is_named(device: torch.device) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    torch.ones(1, device=device)
    watcher = weakref.ref(model[0].bias)
    with pytest.raises(RuntimeError, match=r"Linear\.bias"):
        model.to(device)
    assert watcher() is model[0].bias


@pytest.mark.own_device
def test_a_parameter_whose_graph_is_alive_is_named(device: torch.device) -> None:
    """Its gradient would go to what is no longer the parameter."""
    model = torch.nn.Linear(2, 2)
    torch.ones(1, device=device)
    y = model(torch.ones(1, 2, requires_grad=True))  # its graph keeps the weight
    with pytest.raises(RuntimeError, match=r"Linear\.weight"):
        model.to(device)
    y.sum().backward()
    del y
    assert model.to(device).weight.grad.device.type == device.type


def test_moving_frees_the_old_memory(device: torch.device) -> None:
    module = torch.get_device_module(device)
    if device.type == "cpu":
        pytest.skip("the CPU does not count")
    gc.collect()
    before = module.memory_allocated()
    model = torch.nn.Linear(256, 256).to(device)
    assert module.memory_allocated() - before >= 256 * 256 * 4
    model.to("cpu")
    gc.collect()
    assert module.memory_allocated() - before < 256 * 256 * 4


def test_weight_norm_and_parametrizations(device: torch.device) -> None:
    def program(where: torch.device) -> torch.Tensor:
        torch.manual_seed(0)
        model = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2)).to(where)
        return model(torch.ones(1, 3, device=where))

    assert_same(program(device), program(CPU), device, rtol=1e-5, atol=1e-6)
