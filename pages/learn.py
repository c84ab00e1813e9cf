"""Learn: the method in seven short cards, each with a graph to play with."""

from qafd.app.learn import show

show()
