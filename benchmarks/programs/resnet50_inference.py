"""Inference by ResNet-50, batches of 8."""

from benchmarks.programs import resnet50

GROUP = "convolutional inference"
STEPS = 6
TINY = {"batch": 1, "image": 32, "width": 2, "classes": 10}


def build(tf, batch=8, image=224, width=64, classes=1000):
    return resnet50.inference(tf, batch, image, width, classes)
