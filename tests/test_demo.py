import pytest

from gramian import demo

pytest.importorskip("matplotlib")


def test_the_demo_lowers_the_error_and_saves_a_picture(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    before, after = demo.main(str(picture))
    assert after < before - 5
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "misclassified" in capsys.readouterr().out
