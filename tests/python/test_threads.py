"""Many Python threads on the same tensors: no crash, no hang, no lost write."""

import sys
import threading
from collections.abc import Callable

import torch


def run(works: list[Callable[[], None]]) -> None:
    errors: list[BaseException] = []
    start = threading.Barrier(len(works))

    def guarded(work: Callable[[], None]) -> None:
        try:
            start.wait(30)
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(w,), daemon=True) for w in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join(90)
    assert not any(t.is_alive() for t in threads), "a thread hangs"
    assert errors == []


def test_writers_of_one_tensor_lose_nothing(device: torch.device) -> None:
    x = torch.zeros(512, device=device)
    lock = threading.Lock()  # torch promises no atomic add_ on the CPU either

    def work() -> None:
        for _ in range(100):
            with lock:
                x.add_(1)

    run([work] * 4)
    assert torch.equal(x.cpu(), torch.full((512,), 400.0))


def test_readers_beside_a_writer_see_whole_values(device: torch.device) -> None:
    """A read gets the tensor before or after a write of it, never a mixture or freed memory."""
    if device.type == "cpu":
        return  # the CPU promises less
    x = torch.zeros(4096, device=device)
    done = threading.Event()

    def write() -> None:
        for i in range(300):
            x.fill_(i)
        done.set()

    def read() -> None:
        while not done.is_set():
            y = (x + 0).cpu()
            assert y.min() == y.max(), "torn read"

    run([write, read, read])


def test_unlocked_writers_do_not_crash(device: torch.device) -> None:
    x = torch.zeros(64, 64, device=device)

    def work() -> None:
        for i in range(100):
            x[i % 64].add_(1)
            x.mul_(1)
            x.t()[i % 64].copy_(x[0])

    run([work] * 4)
    assert torch.isfinite(x.cpu()).all()


def test_one_program_compiled_by_many_threads_is_compiled_once(device: torch.device) -> None:
    if device.type == "cpu":
        return
    import torch_pjrt

    x = torch.ones(123, device=device)
    x.cpu()
    before = torch_pjrt.compile_count()
    results: list[float] = []
    run([lambda: results.append((x * x).sum().item())] * 6)
    assert results == [123.0] * 6
    assert torch_pjrt.compile_count() - before == 2, "mul and sum, once each"


def test_tensors_freed_in_other_threads(device: torch.device) -> None:
    box: list[torch.Tensor] = [torch.ones(256, device=device) for _ in range(200)]

    def work() -> None:
        while True:
            try:
                x = box.pop()
            except IndexError:
                return
            x.add_(1)
            del x

    run([work] * 4)
    assert box == []


def test_inference_from_a_pool(device: torch.device) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))
    model.to(device).eval()
    inputs = torch.randn(4, 8, 16)
    with torch.no_grad():
        wanted = [model(x.to(device)).cpu() for x in inputs]

    def serve(index: int) -> Callable[[], None]:
        def work() -> None:
            with torch.no_grad():
                for _ in range(20):
                    assert torch.equal(model(inputs[index].to(device)).cpu(), wanted[index])

        return work

    run([serve(i) for i in range(4)])


def test_fast_thread_switches(device: torch.device) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        x = torch.arange(32.0, device=device)
        run([lambda: [(x * 2 - x).sum().item() for _ in range(50)] and None] * 4)
        assert torch.equal(x.cpu(), torch.arange(32.0))
    finally:
        sys.setswitchinterval(interval)
