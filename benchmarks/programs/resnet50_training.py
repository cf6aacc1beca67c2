"""Training ResNet-50, batches of 8, momentum and weight decay."""

from benchmarks.programs import resnet50

GROUP = "convolutional training"
STEPS = 5
TINY = {"batch": 2, "image": 32, "width": 2, "classes": 10}


def build(tf, batch=8, image=224, width=64, classes=1000):
    return resnet50.training(tf, batch, image, width, classes)
