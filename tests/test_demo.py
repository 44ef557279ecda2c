import pytest

from gramian import demo

pytest.importorskip("matplotlib")


def test_the_demo_learns_and_draws(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    before, after = demo.main(str(picture))
    assert after < before - 5
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "misread" in capsys.readouterr().out
