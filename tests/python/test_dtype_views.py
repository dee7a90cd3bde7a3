"""`view(dtype)` and friends: the same bytes, read as something else."""

import pytest
import torch
from support import arange, check, same_error

PAIRS = [
    (torch.float32, torch.int32),
    (torch.float32, torch.uint8),
    (torch.float32, torch.float16),
    (torch.float32, torch.bfloat16),
    (torch.int64, torch.int32),
    (torch.int64, torch.float64),
    (torch.int32, torch.int64),
    (torch.uint8, torch.float32),
    (torch.uint8, torch.int8),
    (torch.bfloat16, torch.int16),
    (torch.float16, torch.uint8),
    (torch.bool, torch.uint8),
    (torch.bool, torch.int8),
]


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda d: str(d))
def test_read(source: torch.dtype, target: torch.dtype, device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = (arange(where, 3, 8) - 9).to(source)
        v = x.view(target)
        return v, v.clone(), v.view(source), v[1]

    check(program, device)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda d: str(d))
def test_write_through(source: torch.dtype, target: torch.dtype, device: torch.device) -> None:
    def program(where: torch.device) -> object:
        x = torch.ones(3, 8, device=where).to(source)
        v = x.view(target)
        v[1] = 0
        v[2, :1] = 1
        return x, v

    check(program, device)


def test_uint8_to_bool(device: torch.device) -> None:
    check(lambda w: torch.tensor([0, 1, 1], dtype=torch.uint8, device=w).view(torch.bool), device)


def test_complex_is_two_reals(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        pairs = arange(where, 3, 2)
        z = torch.view_as_complex(pairs)
        z.mul_(1j)
        real = torch.view_as_real(z)
        real[0] = 7
        return pairs, z, real, z.real, z.imag, z.abs(), z.conj().clone(), z * z.conj()

    check(program, device, rtol=1e-6, atol=1e-6)


def test_parts_of_a_complex_tensor_are_views(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        z = torch.zeros(3, dtype=torch.complex64, device=where)
        z.real.fill_(2)
        z.imag[1] = -1
        return z

    check(program, device)


def test_conj_and_neg_are_lazy(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        z = torch.complex(arange(where, 3), arange(where, 3) + 1)
        c = z.conj()
        n = c.imag
        return c.is_conj(), n.is_neg(), c.resolve_conj(), n.resolve_neg(), n + 1, c + z

    check(program, device)


def test_a_size_that_does_not_divide_is_refused(device: torch.device) -> None:
    def program(where: torch.device) -> None:
        torch.ones(3, dtype=torch.uint8, device=where).view(torch.float32)

    got, want = same_error(program, device)
    assert str(got) == str(want)


def test_an_unaligned_offset_is_refused(device: torch.device) -> None:
    def program(where: torch.device) -> None:
        torch.ones(9, dtype=torch.uint8, device=where)[1:].view(torch.float32)

    got, want = same_error(program, device)
    assert str(got) == str(want)


def test_float_bits_survive(device: torch.device) -> None:
    bits = torch.tensor([0x7FC00001, 0x3F800000, -0x80000000, 0x7F800000], dtype=torch.int64).int()
    x = bits.to(device).view(torch.float32)
    assert torch.equal(x.cpu().view(torch.int32), bits)
    assert torch.equal(x.view(torch.int32).cpu(), bits)


def test_storage_reinterpreted_by_set(device: torch.device) -> None:
    def program(where: torch.device) -> object:
        raw = torch.tensor([0, 0, 128, 63, 0, 0, 0, 64], dtype=torch.uint8, device=where)
        x = torch.empty(0, dtype=torch.float32, device=where)
        x.set_(raw.untyped_storage(), 0, (2,), (1,))
        before = x.clone()
        x[1] = 1
        return before, x, raw

    check(program, device)
