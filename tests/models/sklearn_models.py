"""Models that skl2onnx exports, for `export.py`: fitted to drawn numbers."""

from __future__ import annotations

FEATURES = 6
OPSETS = {"": 17, "ai.onnx.ml": 3}


def sklearn_models():
    """Yield estimators by name."""
    from sklearn import (
        cluster,
        compose,
        decomposition,
        ensemble,
        gaussian_process,
        linear_model,
        mixture,
        naive_bayes,
        neighbors,
        neural_network,
        pipeline,
        preprocessing,
        svm,
        tree,
    )

    scaler, few = preprocessing.StandardScaler, {"n_estimators": 5}
    columns = compose.ColumnTransformer(
        [("a", scaler(), [0, 1]), ("b", preprocessing.KBinsDiscretizer(3, encode="onehot-dense"), [2, 3])],
        remainder="passthrough",
    )
    made = {
        "scaled": pipeline.make_pipeline(scaler(), linear_model.LogisticRegression()),
        "columns": pipeline.make_pipeline(columns, linear_model.RidgeClassifier()),
        "pca": pipeline.make_pipeline(decomposition.PCA(3), svm.SVC(probability=True)),
        "forest": ensemble.RandomForestClassifier(**few),
        "boosted": ensemble.GradientBoostingClassifier(**few),
        "adaptive": ensemble.AdaBoostClassifier(**few),
        "isolated": ensemble.IsolationForest(**few),
        "bagged": ensemble.BaggingClassifier(tree.DecisionTreeClassifier(), **few),
        "voting": ensemble.VotingClassifier(
            [("a", naive_bayes.GaussianNB()), ("b", tree.DecisionTreeClassifier())], flatten_transform=False
        ),
        "stacked": ensemble.StackingClassifier([("a", naive_bayes.GaussianNB()), ("b", svm.LinearSVC())]),
        "neighbours": neighbors.KNeighborsClassifier(3),
        "near": neighbors.KNeighborsRegressor(3),
        "perceptron": neural_network.MLPClassifier((8,), max_iter=20),
        "process": gaussian_process.GaussianProcessRegressor(),
        "clusters": cluster.KMeans(3, n_init=1),
        "mixture": mixture.GaussianMixture(2),
        "polynomial": pipeline.make_pipeline(preprocessing.PolynomialFeatures(2), linear_model.Lasso()),
        "bayes": naive_bayes.BernoulliNB(),
        "normal": pipeline.make_pipeline(preprocessing.Normalizer(), linear_model.SGDRegressor()),
        "power": pipeline.make_pipeline(preprocessing.PowerTransformer(), decomposition.TruncatedSVD(2)),
        "several": linear_model.MultiTaskLasso(),
    }
    yield from made.items()


def export_sklearn(folder, wanted, said):
    """Write each wanted model with a batch that is free and with one that is not; `said` takes what came of it."""
    import numpy as np
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.base import is_classifier

    drawn = np.random.default_rng(0)
    data, classes = drawn.normal(size=(60, FEATURES)).astype(np.float32), drawn.integers(0, 3, 60)
    for name, estimator in sklearn_models():
        for free in (False, True) if wanted(f"skl_{name}") else ():
            path = folder / f"skl_{name}-{'free' if free else 'one'}.onnx"
            try:
                estimator.fit(data, data[:, :2] if name == "several" else classes)
                kind = [("x", FloatTensorType([None if free else 1, FEATURES]))]
                plain = {id(estimator): {"zipmap": False}} if is_classifier(estimator) else None
                made = to_onnx(estimator, initial_types=kind, options=plain, target_opset=OPSETS)
                path.write_bytes(made.SerializeToString())
                said(path.name)
            except Exception as error:
                said(f"{path.name}: not exported: {type(error).__name__}: {str(error).splitlines()[:1]}")
